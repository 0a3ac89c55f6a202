// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luaplugin_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/plugin"

	"github.com/ordered-helm/helm/internal/luaplugin"
)

// writeFiles writes files into a new directory, whose name contains a space.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a plugin")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestScript(t *testing.T) {
	absolute := filepath.Join(t.TempDir(), "elsewhere.lua")
	for name, tt := range map[string]struct {
		manifest, program string
		want, err         string
	}{
		"relative":           {manifest: "# empty\n", program: "run.lua", want: "DIR/run.lua"},
		"in a subdirectory":  {manifest: "{}\n", program: "bin/run.lua", want: "DIR/bin/run.lua"},
		"absolute":           {program: absolute, want: absolute},
		"another program":    {program: "run.sh"},
		"only the extension": {program: "lua"},
		"no lua.yaml":        {manifest: "none", program: "run.lua"},
		"unknown field":      {manifest: "permissions: [network]\n", program: "run.lua", err: `there is no field "permissions"`},
		"no map":             {manifest: "- a\n", program: "run.lua", err: "lua.yaml is invalid"},
		"syntax error":       {manifest: "a: [\n", program: "run.lua", err: "lua.yaml is invalid"},
		"too large":          {manifest: "#" + strings.Repeat("x", 64<<10), program: "run.lua", err: "more than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"lua.yaml": tt.manifest}
			if tt.manifest == "none" {
				files = nil
			}
			dir := writeFiles(t, files)
			got, err := luaplugin.Script(dir, tt.program)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), dir) {
					t.Errorf("got the error %v, want %q and the file", err, tt.err)
				}
				return
			}
			if want := filepath.FromSlash(strings.Replace(tt.want, "DIR", dir, 1)); err != nil || got != want {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		})
	}
}

func TestHookScript(t *testing.T) {
	dir := writeFiles(t, map[string]string{"lua.yaml": ""})
	t.Setenv("HELM_PLUGIN_DIR", dir)
	script := filepath.Join(dir, "hook.lua")
	for name, tt := range map[string]struct {
		metadata plugin.Metadata
		file     string
		args     []string
	}{
		"hook":            {plugin.Metadata{Hooks: plugin.Hooks{plugin.Install: "$HELM_PLUGIN_DIR/hook.lua one two"}}, script, []string{"one", "two"}},
		"relative":        {plugin.Metadata{Hooks: plugin.Hooks{plugin.Install: "hook.lua"}}, script, nil},
		"platform hook":   {plugin.Metadata{PlatformHooks: plugin.PlatformHooks{plugin.Install: {{Command: "$HELM_PLUGIN_DIR/hook.lua", Args: []string{"$HELM_PLUGIN_DIR"}}}}}, script, []string{dir}},
		"shell":           {plugin.Metadata{Hooks: plugin.Hooks{plugin.Install: "cd $HELM_PLUGIN_DIR && ./hook.lua"}}, "", nil},
		"another event":   {plugin.Metadata{Hooks: plugin.Hooks{plugin.Update: "hook.lua"}}, "", nil},
		"no hook":         {plugin.Metadata{}, "", nil},
		"another program": {plugin.Metadata{Hooks: plugin.Hooks{plugin.Install: "hook.sh"}}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			file, args, err := luaplugin.HookScript(&plugin.Plugin{Metadata: &tt.metadata, Dir: dir}, plugin.Install)
			if err != nil || file != tt.file || file != "" && !slices.Equal(args, tt.args) {
				t.Errorf("got %q %q, %v, want %q %q", file, args, err, tt.file, tt.args)
			}
		})
	}
}
