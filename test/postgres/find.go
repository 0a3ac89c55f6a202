// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
)

// errMissing means that PostgreSQL is not installed.
var errMissing = errors.New(`no PostgreSQL server is installed: install the package "postgresql" of the distribution, or have its programs initdb and postgres in PATH`)

// find returns the directory of the programs of the server, which may not be in PATH.
func find(ctx context.Context) (string, error) {
	var folders []string
	if path, err := exec.LookPath("postgres"); err == nil {
		folders = append(folders, filepath.Dir(path))
	}
	versions, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	folders = append(append(folders, versions...), "/usr/local/bin")
	// Packages of only the client contain pg_config, too.
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(out)))
	}
	for _, folder := range folders {
		if hasServer(folder) {
			return filepath.Abs(folder)
		}
	}
	return "", errMissing
}

func hasServer(folder string) bool {
	for _, program := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(folder, program)); err != nil {
			return false
		}
	}
	return true
}
