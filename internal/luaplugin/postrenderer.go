// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luaplugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// IsPostRenderer reports whether a file is a Lua script that can run as a post-renderer inside this
// process.
func IsPostRenderer(file string) bool {
	info, err := os.Stat(file)
	return filepath.Ext(file) == scriptExtension && err == nil && info.Mode().IsRegular()
}

// NamesInterpreter reports whether the first line of a file says which program interprets it.
func NamesInterpreter(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	start := make([]byte, len("#!"))
	_, err = f.Read(start)
	return err == nil && string(start) == "#!"
}

// PostRenderer is a post-renderer that runs a Lua script. It implements Helm's interface
// postrender.PostRenderer.
type PostRenderer struct {
	// Program returns the script, whose standard streams are not used.
	Program func() (*Program, error)
}

// Run is RunWithContext with a context that never ends.
func (r *PostRenderer) Run(manifests *bytes.Buffer) (*bytes.Buffer, error) {
	return r.RunWithContext(context.Background(), manifests) //nolint:forbidigo // Helm's interface has no context
}

// RunWithContext runs the script with the manifests as its standard input, and returns its standard
// output. It stops the script when ctx ends. A script that writes nothing is an error, because all
// resources of a release that is upgraded would be deleted.
func (r *PostRenderer) RunWithContext(ctx context.Context, manifests *bytes.Buffer) (*bytes.Buffer, error) {
	var out, errOut bytes.Buffer
	isEmpty := func(b *bytes.Buffer) bool { return len(bytes.TrimSpace(b.Bytes())) == 0 }
	hasManifests := !isEmpty(manifests)
	program, err := r.Program()
	if err != nil {
		return nil, err
	}
	program.Stdin, program.Stdout, program.Stderr = manifests, &out, &errOut
	if err := program.Run(ctx); err != nil {
		if errOut.Len() > 0 {
			err = errors.Join(err, fmt.Errorf("error output:\n%s", errOut.String()))
		}
		return nil, fmt.Errorf("error while running post-renderer %s: %w", program.File, err)
	}
	if hasManifests && isEmpty(&out) {
		return nil, fmt.Errorf("post-renderer %s has written no manifests to its standard output", program.File)
	}
	return &out, nil
}
