// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// localFileFlag is the value of a flag that names a local file. It reads the file.
type localFileFlag struct {
	// what says what the file is, for errors: "an order file".
	what string
	// maxSize is the maximum size of the file, in bytes.
	maxSize int64
	// use gets the path and the content of the file.
	use  func(path string, content []byte) error
	path string
}

// add adds the flag to a command.
func (v *localFileFlag) add(cmd *cobra.Command, name, usage string) {
	cmd.Flags().Var(v, name, usage)
	_ = cmd.MarkFlagFilename(name, "yaml", "yml") // it fails only if there is no such flag
}

// String implements pflag.Value.
func (v *localFileFlag) String() string { return v.path }

// Type implements pflag.Value.
func (v *localFileFlag) Type() string { return "file" }

// Set implements pflag.Value.
func (v *localFileFlag) Set(path string) error {
	content, err := v.read(path)
	if err != nil {
		return err
	}
	v.path = path
	return v.use(path, content)
}

func (v *localFileFlag) read(path string) ([]byte, error) {
	switch {
	case path == "-":
		return nil, fmt.Errorf("%s cannot be read from standard input: save it to a file", v.what)
	case strings.Contains(path, "://"):
		return nil, fmt.Errorf("%s must be a local file, not a URL: download it, and review it", v.what)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(f, v.maxSize+1))
	if err == nil && int64(len(content)) > v.maxSize {
		err = fmt.Errorf("%s is larger than %d bytes, the maximum size of %s", path, v.maxSize, v.what)
	}
	return content, err
}
