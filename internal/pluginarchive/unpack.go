// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package pluginarchive

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// ErrTooLarge says that the files of an archive are larger than allowed.
var ErrTooLarge = errors.New("the archive's files are too large")

// entrySize is what any entry counts for, so that there is an end to empty ones.
const entrySize = 512

// unpack writes the files of a .tar.gz archive into a new folder. Nothing is
// written outside of it.
func unpack(archive io.Reader, dir string, maxSize int64) (err error) {
	uncompressed, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()

	left := maxSize
	for entries := tar.NewReader(uncompressed); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := safeName(header.Name)
		if err != nil {
			return err
		}
		if left -= header.Size + entrySize; left < 0 {
			return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, maxSize)
		}
		switch header.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o755)
		case tar.TypeReg:
			err = writeFile(root, name, fs.FileMode(header.Mode).Perm(), entries)
		case tar.TypeXGlobalHeader, tar.TypeXHeader:
		default:
			err = fmt.Errorf("unknown type: %b in %s", header.Typeflag, header.Name)
		}
		if err != nil {
			return err
		}
	}
}

// writeFile writes a file and the folders above it. A tar reader yields no more
// than the size that the entry's header says.
func writeFile(root *os.Root, name string, mode fs.FileMode, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// safeName refuses names that lead out of the folder, or would on another system.
func safeName(name string) (string, error) {
	// An archive made on Windows has backslashes.
	slashed := strings.ReplaceAll(name, `\`, "/")
	switch {
	case strings.Contains(slashed, ":"):
		return "", errors.New("path contains ':', which is illegal")
	case slices.Contains(strings.Split(slashed, "/"), ".."):
		return "", errors.New("path contains '..', which is illegal")
	case path.IsAbs(slashed):
		return "", errors.New("path is absolute, which is illegal")
	default:
		return path.Clean(slashed), nil
	}
}
