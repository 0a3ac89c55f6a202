// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
)

const mainModule = "github.com/ordered-helm/helm"

// TestControllerCanBeInstalled checks that "go install" accepts the module of the controller: it refuses modules whose go.mod
// has directives that only count for the main module of a build.
func TestControllerCanBeInstalled(t *testing.T) {
	t.Parallel()
	text := strings.Join(run(t, filepath.Join(binaries.Root(t), "cmd", "helm-controller"), nil, "mod", "edit", "-json"), "\n")
	var file struct{ Replace, Exclude []any }
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Replace)+len(file.Exclude) > 0 {
		t.Errorf("cmd/helm-controller/go.mod has replace or exclude directives: %v %v", file.Replace, file.Exclude)
	}
}

// TestControllerModuleIsTidy checks that "go mod tidy" would change nothing in the module of the controller. It does
// not work there, because the required version of the main module need not be published.
func TestControllerModuleIsTidy(t *testing.T) {
	t.Parallel()
	root := binaries.Root(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "cmd", "helm-controller"))); err != nil {
		t.Fatal(err)
	}
	run(t, dir, nil, "mod", "edit", "-replace", mainModule+"="+root)
	if diff := strings.Join(run(t, dir, nil, "mod", "tidy", "-diff"), "\n"); diff != "" {
		t.Errorf("cmd/helm-controller/go.mod is not tidy:\n%s", diff)
	}
}

// TestControllerUsesMainModuleVersions checks that the controller uses the same versions of modules as helm.
func TestControllerUsesMainModuleVersions(t *testing.T) {
	t.Parallel()
	root := binaries.Root(t)
	versions := make(map[string]string)
	for _, r := range requirements(t, filepath.Join(root, "cmd", "helm-controller")) {
		versions[r.Path] = r.Version
	}
	for _, r := range requirements(t, root) {
		if got := versions[r.Path]; got != "" && got != r.Version {
			t.Errorf("the controller uses %s %s, helm uses %s", r.Path, got, r.Version)
		}
	}
}
