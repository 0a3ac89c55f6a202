// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"testing"
)

// VariantsEnv is the environment variable with which variants of tests run.
const VariantsEnv = "ORDERED_HELM_VARIANTS"

// Variant skips a test that varies what another test covers, unless isVariant is false or ORDERED_HELM_VARIANTS is set,
// as "make soak" does: they would make "make test" slower than people like to wait for.
func Variant(tb testing.TB, isVariant bool) {
	tb.Helper()
	if isVariant && os.Getenv(VariantsEnv) == "" {
		tb.Skipf("a variant, which runs only if %s is set, as in make soak", VariantsEnv)
	}
}
