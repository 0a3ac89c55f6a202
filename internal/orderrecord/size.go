// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderrecord

import (
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
)

// maxStoredSize is the limit of the API server for the total size of the values in a Secret
// or ConfigMap. It counts neither keys nor labels, and counts the values of a Secret before
// they are encoded for JSON.
const maxStoredSize = corev1.MaxSecretSize

// fastCompressionMargin: in rare cases, the result of fast compression is smaller than that
// of thorough compression, by up to one part in fastCompressionMargin.
const fastCompressionMargin = 100

// maxParts is the maximum length of TooLargeError.Parts.
const maxParts = 3

// compressedSize returns the size of data after gzip and base64, with the compression level
// of Helm's drivers.
func compressedSize(data []byte) (int, error) { return compressedSizeAt(data, gzip.BestCompression) }

func compressedSizeAt(data []byte, level int) (int, error) {
	var n byteCounter
	w, err := gzip.NewWriterLevel(&n, level)
	if err != nil {
		return 0, err
	}
	if _, err := w.Write(data); err != nil {
		return 0, err
	}
	if err := w.Close(); err != nil {
		return 0, err
	}
	return base64.StdEncoding.EncodedLen(int(n)), nil
}

// byteCounter counts the bytes that are written to it.
type byteCounter int

func (c *byteCounter) Write(data []byte) (int, error) {
	*c += byteCounter(len(data))
	return len(data), nil
}

// maxCompressedSize returns an upper bound for compressedSize of data with this size. Data
// that cannot be compressed grows by a header and some bytes for each block.
func maxCompressedSize(size int) int {
	return base64.StdEncoding.EncodedLen(size + size/1024 + 64)
}

// TooLargeError reports that a release does not fit into the Secret or ConfigMap in which
// it is to be stored.
type TooLargeError struct {
	Release  string
	Revision int
	// Kind is the kind of the object: "Secret" or "ConfigMap".
	Kind string
	// Size is the size of the release, and Limit the maximum, in bytes.
	Size, Limit int
	// Reserve is the number of bytes by which the release can grow during the deployment.
	Reserve int
	// Parts are the largest parts of the release, the largest first.
	Parts []Part
}

// Part is a part of a stored release, with its size, for an error message.
type Part struct {
	// Name describes the part, as in "the files of the chart".
	Name string
	// Size is the size of the compressed part, in bytes.
	Size int
	// Largest is the name of the largest file in the part; empty if the part does not
	// consist of files.
	Largest string
}

func (p Part) String() string {
	if p.Largest == "" {
		return fmt.Sprintf("%s (%d)", p.Name, p.Size)
	}
	return fmt.Sprintf("%s (%d, the largest %s)", p.Name, p.Size, p.Largest)
}

func (e *TooLargeError) Error() string {
	grows := ""
	if e.Reserve > 0 {
		grows = fmt.Sprintf(", and up to %d more during the deployment", e.Reserve)
	}
	parts := make([]string, len(e.Parts))
	for i, p := range e.Parts {
		parts[i] = p.String()
	}
	return fmt.Sprintf("release %s is too large to be stored: revision %d takes %d bytes%s, but a %s can have at most %d. "+
		"The largest parts are %s: exclude files with .helmignore, split the chart, or store releases in a database with HELM_DRIVER=sql",
		e.Release, e.Revision, e.Size, grows, e.Kind, e.Limit, strings.Join(parts, ", "))
}

// CheckSize returns a *TooLargeError if a release does not fit into the Secret or ConfigMap
// in which the driver with this name stores it. For other drivers there is no limit.
// reserve is the number of bytes by which the release can grow during the deployment.
func CheckSize(rel *release.Release, driverName string, reserve int) error {
	if driverName != driver.SecretsDriverName && driverName != driver.ConfigMapsDriverName {
		return nil
	}
	data, err := json.Marshal(rel)
	if err != nil {
		return fmt.Errorf("write release %s: %w", rel.Name, err)
	}
	if maxCompressedSize(len(data))+reserve <= maxStoredSize {
		return nil // ordinary releases do not need to be compressed
	}
	quick, err := compressedSizeAt(data, gzip.BestSpeed)
	if err != nil || quick+quick/fastCompressionMargin+reserve <= maxStoredSize {
		return err // avoids slow compression of a large release
	}
	size, err := compressedSize(data)
	if err != nil || size+reserve <= maxStoredSize {
		return err
	}
	parts, err := largestParts(rel)
	if err != nil {
		return err
	}
	return &TooLargeError{
		Release: rel.Name, Revision: rel.Version, Kind: driverName,
		Size: size, Limit: maxStoredSize, Reserve: reserve, Parts: parts,
	}
}

// largestParts returns up to maxParts parts of a release, the largest first. It omits parts
// that are much smaller than the first.
func largestParts(rel *release.Release) ([]Part, error) {
	ch := rel.Chart
	if ch == nil {
		ch = &chart.Chart{}
	}
	files := removeRecord(ch.Files)
	var order []*chart.File
	if len(files) < len(ch.Files) {
		order = slices.DeleteFunc(slices.Clone(ch.Files), func(f *chart.File) bool { return !isRecord(f) })
	}
	var parts []Part
	for _, p := range []struct {
		name, largest string
		content       any
	}{
		{"the templates of the chart", largestFile(ch.Templates), ch.Templates},
		{"the files of the chart", largestFile(files), files},
		{"the values", "", []any{ch.Values, rel.Config}},
		{"the schema of the values", "", ch.Schema},
		{"the metadata of the chart", "", []any{ch.Metadata, ch.Lock}},
		{"the release record", "", order},
		{"the manifest", "", rel.Manifest},
		{"the hooks", "", rel.Hooks},
		{"the notes and status", "", rel.Info},
	} {
		data, err := json.Marshal(p.content)
		if err != nil {
			return nil, fmt.Errorf("write release %s: %w", rel.Name, err)
		}
		size, err := compressedSize(data)
		if err != nil {
			return nil, err
		}
		parts = append(parts, Part{Name: p.name, Size: size, Largest: p.largest})
	}
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(b.Size, a.Size) })
	parts = parts[:maxParts]
	return slices.DeleteFunc(parts, func(p Part) bool { return p.Size < parts[0].Size/100 }), nil
}

// largestFile returns the name of the largest file, or "" if there is none.
func largestFile(files []*chart.File) string {
	name, size := "", -1
	for _, f := range files {
		if f != nil && len(f.Data) > size {
			name, size = f.Name, len(f.Data)
		}
	}
	return name
}
