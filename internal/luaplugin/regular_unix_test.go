// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package luaplugin_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ordered-helm/helm/internal/luaplugin"
)

// TestNoRegularFile checks that files that could be read forever are rejected.
func TestNoRegularFile(t *testing.T) {
	dir := writeFiles(t, map[string]string{"lua.yaml": ""})
	file := filepath.Join(dir, "main.lua")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	program := &luaplugin.Program{File: file, Stdin: strings.NewReader("")}
	if err := program.Run(t.Context()); err == nil || !strings.Contains(err.Error(), file+" is not a regular file") {
		t.Errorf("got %v", err)
	}
	manifest := filepath.Join(dir, "lua.yaml")
	if err := errors.Join(os.Remove(manifest), syscall.Mkfifo(manifest, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := luaplugin.Script(dir, "main.lua"); err == nil || !strings.Contains(err.Error(), manifest+" is not a regular file") {
		t.Errorf("got %v", err)
	}
}
