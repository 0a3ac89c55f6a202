// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package uploaderplugin_test

import (
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/cli"

	"github.com/ordered-helm/helm/internal/uploaderplugin"
)

// install writes plugins, whose names are the keys, with the given content of uploaders.yaml.
func install(t *testing.T, plugins map[string]string) *cli.EnvSettings {
	t.Helper()
	settings := cli.New()
	settings.PluginsDirectory = t.TempDir()
	for name, content := range plugins {
		dir := filepath.Join(settings.PluginsDirectory, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{"plugin.yaml": "name: " + name + "\nversion: 0.1.0\ncommand: nothing\n"}
		if content != "" {
			files[uploaderplugin.FileName] = content
		}
		for file, content := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return settings
}

func TestAll(t *testing.T) {
	settings := install(t, map[string]string{
		"a": "", "b": "- {protocols: [s3, gs], command: bin/up -v}\n- {protocols: [sftp], command: other}\n",
	})
	uploaders, err := uploaderplugin.All(settings)
	if err != nil {
		t.Fatal(err)
	}
	got, found := uploaderplugin.Find(uploaders, "gs")
	if !found || got.Plugin != "b" || got.Command != "bin/up -v" || got.Dir != filepath.Join(settings.PluginsDirectory, "b") {
		t.Errorf("got %+v", got)
	}
	if got, found := uploaderplugin.Find(uploaders, "s"); found {
		t.Errorf("got %+v for a scheme without an uploader", got)
	}
}

// TestInvalidFiles checks that a file that cannot be read is reported, and does not hide the
// uploaders of other plugins.
func TestInvalidFiles(t *testing.T) {
	tests := []struct{ name, content, want string }{
		{"unknown field", "- {protocols: [s3], command: up, platform: linux}", `unknown field "platform"`},
		{"no list", "uploaders: []", "cannot unmarshal object"},
		{"no command", "- {protocols: [s3]}", "each uploader needs protocols and a command"},
		{"blank command", "- {protocols: [s3], command: ' '}", "each uploader needs protocols and a command"},
		{"no protocols", "- {command: up}", "each uploader needs protocols and a command"},
		{"empty protocol", "- {protocols: [''], command: up}", "each uploader needs protocols and a command"},
		{"no YAML", "{{", "uploaders.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			uploaders, err := uploaderplugin.All(install(t, map[string]string{"bad": tt.content, "good": "- {protocols: [gs], command: up}"}))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), `plugin "bad"`) {
				t.Errorf("error is %v, want %s", err, tt.want)
			}
			if _, found := uploaderplugin.Find(uploaders, "gs"); !found {
				t.Error("the other plugin is not found")
			}
		})
	}
}

// TestUpload checks how the program is called.
func TestUpload(t *testing.T) {
	settings := install(t, map[string]string{"cloud": "- {protocols: [s3], command: bin/up  --quiet}"})
	uploaders, err := uploaderplugin.All(settings)
	if err != nil {
		t.Fatal(err)
	}
	var got uploaderplugin.Program
	upload := uploaderplugin.Upload{
		File: "shop-1.2.3.tgz", URL: "s3://bucket/charts", CertFile: "cert", KeyFile: "key", CAFile: "ca",
		Username: "anna", Password: "secret", AccessToken: "token", PassCredentialsAll: true,
	}
	err = uploaders[0].Upload(t.Context(), settings, upload, func(_ context.Context, p uploaderplugin.Program) error {
		got = p
		return nil
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if words := strings.Join(got.Words, " "); words != "bin/up --quiet cert key ca s3://bucket/charts shop-1.2.3.tgz" || got.Dir != uploaders[0].Dir {
		t.Errorf("called %q in %s", words, got.Dir)
	}
	env := map[string]string{}
	for _, variable := range got.Env {
		name, value, _ := strings.Cut(variable, "=")
		env[name] = value
	}
	want := map[string]string{
		"HELM_PLUGIN_USERNAME": "anna", "HELM_PLUGIN_PASSWORD": "secret", "HELM_PLUGIN_ACCESS_TOKEN": "token", "HELM_PLUGIN_PASS_CREDENTIALS_ALL": "true",
		"HELM_PLUGIN_NAME": "cloud", "HELM_PLUGIN_DIR": got.Dir, "HELM_PLUGINS": settings.PluginsDirectory,
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if env[name] != want[name] {
			t.Errorf("%s is %q, want %q", name, env[name], want[name])
		}
	}
}
