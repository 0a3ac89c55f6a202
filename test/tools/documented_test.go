// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/harness"
)

// TestDocumentedVersions checks that docs/other-tools.md names the versions that the modules of
// the tools require.
func TestDocumentedVersions(t *testing.T) {
	t.Parallel()
	root := binaries.Root(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "other-tools.md"))
	harness.NoError(t, err)
	for tool, module := range map[string]string{
		"chart-testing": "github.com/helm/chart-testing/v3",
		"helm-diff":     "github.com/databus23/helm-diff/v3",
		"helm-unittest": "github.com/helm-unittest/helm-unittest",
		"helmfile":      "github.com/helmfile/helmfile",
	} {
		mod, err := os.ReadFile(filepath.Join(root, "scripts", "tools", tool, "go.mod"))
		harness.NoError(t, err)
		required := regexp.MustCompile(`(?m)^\s+` + regexp.QuoteMeta(module) + ` (\S+)`).FindSubmatch(mod)
		if required == nil {
			t.Fatalf("the module of %s does not require %s", tool, module)
		}
		row := regexp.MustCompile(`(?m)^\| \[` + tool + `\]\([^)]+\) \| ` + regexp.QuoteMeta(string(required[1])) + ` \|`)
		if !row.Match(page) {
			t.Errorf("other-tools.md does not have %s in version %s", tool, required[1])
		}
	}
}
