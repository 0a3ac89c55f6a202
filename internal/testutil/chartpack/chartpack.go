// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartpack creates chart archives for tests. In contrast to helm package, it also
// packs invalid charts.
package chartpack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// Created is the modification time of all files in the archives that Pack returns.
var Created = time.Date(2020, time.February, 3, 4, 5, 6, 0, time.UTC)

// Pack returns an archive (.tgz) of the chart in the directory source. It does not check,
// omit or change any file. Equal directories result in equal archives.
func Pack(source string) ([]byte, error) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	err := filepath.WalkDir(source, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return add(archive, source, file)
	})
	if err := errors.Join(err, archive.Close(), zipped.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// add adds the file to the archive, with its path relative to source.
func add(archive *tar.Writer, source, file string) error {
	relative, err := filepath.Rel(source, file)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	header := &tar.Header{
		Name: path.Join(filepath.Base(source), filepath.ToSlash(relative)), Typeflag: tar.TypeReg,
		Mode: 0o644, Size: int64(len(data)), ModTime: Created,
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = archive.Write(data)
	return err
}
