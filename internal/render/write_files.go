// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"os"
	"path/filepath"
)

// WriteFiles writes each document to a file in dir that has the name of its template, and
// prints the names of the files to stdout, as Helm does. If useReleaseName is set, the
// files are in a subdirectory with the name of the release.
func WriteFiles(dir, releaseName string, useReleaseName bool, files []File) error {
	if useReleaseName {
		dir = filepath.Join(dir, releaseName)
	}
	written := map[string]bool{}
	for _, f := range files {
		name := dir + string(filepath.Separator) + f.Name
		if err := writeFile(name, f, written[f.Name]); err != nil {
			return err
		}
		written[f.Name] = true
		fmt.Fprintf(os.Stdout, "wrote %s\n", name)
	}
	return nil
}

// writeFile writes one document to the file name. If more is set, it appends the document
// to the file.
func writeFile(name string, f File, more bool) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	flags, mode := os.O_RDWR|os.O_CREATE|os.O_TRUNC, os.FileMode(0o666)
	if more {
		flags, mode = os.O_APPEND|os.O_WRONLY, 0o600
	}
	file, err := os.OpenFile(name, flags, mode)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := file.Close(); err == nil {
			err = cerr
		}
	}()
	_, err = fmt.Fprintf(file, "---\n# Source: %s\n%s\n", f.Name, f.Content)
	return err
}
