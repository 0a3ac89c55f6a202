// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"os"
	"path/filepath"
)

// WriteFiles writes each document to a file in dir, and prints the names of the files to
// standard output, as Helm does. A file has the path of its template. If useReleaseName is
// set, all files are in a subdirectory with the name of the release.
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

// writeFile writes the document f to the file with the given name. If toEnd is set, it
// appends the document to the file.
func writeFile(name string, f File, toEnd bool) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	flags, mode := os.O_RDWR|os.O_CREATE|os.O_TRUNC, os.FileMode(0o666)
	if toEnd {
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
