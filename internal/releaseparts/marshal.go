// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseparts

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
)

// minLargeFile is the size in bytes from which a file of a chart is not encoded by encoding/json.
const minLargeFile = 64 << 10

// marshal returns the JSON text of a release, the same as json.Marshal. That would copy the content of large files
// several times while its buffer grows, so marshal lets it encode short texts in their place, and then replaces these.
func marshal(rel *release.Release) ([]byte, error) {
	var large []*chart.File
	if rel.Chart != nil {
		large = slices.DeleteFunc(slices.Concat(rel.Chart.Templates, rel.Chart.Files), func(f *chart.File) bool { return f == nil || len(f.Data) < minLargeFile })
	}
	if len(large) == 0 {
		return json.Marshal(rel)
	}
	replacement := make([]byte, 24) // so that no chart can contain it
	_, _ = rand.Read(replacement)   // never fails
	replaced, ch := *rel, *rel.Chart
	ch.Templates, ch.Files = replaceLargeFiles(ch.Templates, replacement), replaceLargeFiles(ch.Files, replacement)
	replaced.Chart = &ch
	text, err := json.Marshal(&replaced)
	if err != nil {
		return nil, err
	}
	return insertData(text, base64.StdEncoding.AppendEncode(nil, replacement), large)
}

// replaceLargeFiles returns a copy of files in which large ones have other data.
func replaceLargeFiles(files []*chart.File, data []byte) []*chart.File {
	replaced := slices.Clone(files)
	for i, f := range files {
		if f != nil && len(f.Data) >= minLargeFile {
			replaced[i] = &chart.File{Name: f.Name, Data: data}
		}
	}
	return replaced
}

// insertData returns text with the encoded data of files in the place of each replacement.
func insertData(text, replacement []byte, files []*chart.File) ([]byte, error) {
	size := len(text)
	for _, f := range files {
		size += base64.StdEncoding.EncodedLen(len(f.Data)) - len(replacement)
	}
	whole := make([]byte, 0, size)
	for _, f := range files {
		before, after, found := bytes.Cut(text, replacement)
		if !found {
			return nil, errors.New("its chart was changed while it was encoded")
		}
		whole = base64.StdEncoding.AppendEncode(append(whole, before...), f.Data)
		text = after
	}
	return append(whole, text...), nil
}
