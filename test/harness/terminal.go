// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"strings"
)

// ShellQuote quotes a word for the shell.
func ShellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
