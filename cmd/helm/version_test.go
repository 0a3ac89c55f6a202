// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chartutil"
)

// TestVersionForScripts checks that scripts that parse the version of stock Helm get the same
// result for ours.
func TestVersionForScripts(t *testing.T) {
	helms, err := semver.NewVersion(chartutil.DefaultCapabilities.HelmVersion.Version)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"version", "--short"}, {"version", "--template", "{{.Version}}"}} {
		text := strings.TrimSpace(runHelm(t, args...).stdout)
		ours, err := semver.NewVersion(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if !ours.Equal(helms) || !strings.HasPrefix(ours.Metadata(), "ordered.") {
			t.Errorf("%q is not read as %s", text, helms)
		}
	}
	if seen := chartutil.DefaultCapabilities.HelmVersion.Version; strings.Contains(seen, "+") {
		t.Errorf("charts see the version %q", seen)
	}
}
