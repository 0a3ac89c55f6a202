// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package luaplugin runs programs of plugins that are written in Lua inside this process
// (docs/reference.md, "Lua plugins").
package luaplugin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/plugin"
	"sigs.k8s.io/yaml"
)

// ManifestFile is the file that a plugin has if its programs that are Lua scripts run inside this
// process. It is empty, apart from comments.
const ManifestFile = "lua.yaml"

const scriptExtension = ".lua"

// maxManifest is the maximum size of a lua.yaml in bytes.
const maxManifest = 64 << 10

// Script returns the file of a Lua script that runs inside this process, or "" if the program is
// another one: if its name does not end in .lua, or if the plugin has no lua.yaml. A relative
// name is relative to the directory of the plugin.
func Script(dir, program string) (string, error) {
	if filepath.Ext(program) != scriptExtension {
		return "", nil
	}
	uses, err := hasManifest(dir)
	if err != nil || !uses {
		return "", err
	}
	if !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
	}
	return program, nil
}

// IsPlugin reports whether a plugin has a lua.yaml.
func IsPlugin(dir string) bool {
	uses, err := hasManifest(dir)
	return uses || err != nil
}

// HasFile reports whether a plugin has a Lua script with this name that runs inside this process.
func HasFile(dir, name string) bool {
	file, err := Script(dir, name)
	if err != nil || file == "" {
		return false
	}
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// hasManifest reports whether a plugin has a lua.yaml, and checks it.
func hasManifest(dir string) (bool, error) {
	file := filepath.Join(dir, ManifestFile)
	f, err := openRegular(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	switch {
	case err != nil:
		return false, fmt.Errorf("reading %s: %w", file, err)
	case len(data) > maxManifest:
		return false, fmt.Errorf("%s has more than %d bytes", file, maxManifest)
	}
	var manifest map[string]any
	if err := yaml.Unmarshal(data, &manifest); err != nil {
		return false, fmt.Errorf("%s is invalid: %w", file, err)
	}
	for field := range manifest {
		return false, fmt.Errorf("%s is invalid: there is no field %.100q (the file can only be empty)", file, field)
	}
	return true, nil
}

// HookScript returns the Lua script that a plugin runs for an event such as plugin.Install, and its
// arguments. The script is "" if there is none. plugin.SetupPluginEnv must have been called.
func HookScript(p *plugin.Plugin, event string) (file string, args []string, err error) {
	commands := p.Metadata.PlatformHooks[event]
	if line := p.Metadata.Hooks[event]; len(commands) == 0 && line != "" {
		commands = []plugin.PlatformCommand{{Command: line}}
	}
	program, args, err := plugin.PrepareCommands(commands, true, nil)
	if err != nil {
		return "", nil, nil //nolint:nilerr // there is no hook for this event or this platform
	}
	file, err = Script(p.Dir, program)
	return file, args, err
}

// source reads a script, without the byte order mark that some editors write. A first line that
// begins with # is for other interpreters.
func source(file string) (string, error) {
	f, err := openRegular(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(f)
	if err != nil {
		return "", err
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	if rest, found := strings.CutPrefix(text, "#"); found {
		return "--" + rest, nil
	}
	return text, nil
}

// openRegular opens a regular file. Others, such as named pipes, could block forever.
func openRegular(file string) (*os.File, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	return os.Open(file)
}
