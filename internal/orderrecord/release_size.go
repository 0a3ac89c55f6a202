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

// maxStoredSize is the API server's limit for the total size of the values in a Secret or
// ConfigMap, without keys and labels. The values of a Secret count before they are encoded
// in base64.
const maxStoredSize = corev1.MaxSecretSize

// fastCompressionMargin bounds how much smaller the result of gzip.BestSpeed can be than
// that of gzip.BestCompression, in rare cases: by one part in fastCompressionMargin.
const fastCompressionMargin = 100

// maxParts is the maximum length of ReleaseTooLargeError.Parts.
const maxParts = 3

// compressedSize returns the size of data as Helm's storage drivers store it: compressed
// with gzip, at their compression level, and encoded in base64.
func compressedSize(data []byte) (int, error) { return compressedSizeAt(data, gzip.BestCompression) }

// compressedSizeAt is like compressedSize, but with the given compression level.
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

// maxCompressedSize returns an upper bound for compressedSize of size bytes: even data that
// cannot be compressed grows only by a header and some bytes for each block.
func maxCompressedSize(size int) int {
	return base64.StdEncoding.EncodedLen(size + size/1024 + 64)
}

// ReleaseTooLargeError reports that a release does not fit into the Secret or ConfigMap that
// is to store it.
type ReleaseTooLargeError struct {
	Release  string
	Revision int
	// Kind is the kind of the object that is to store the release: "Secret" or "ConfigMap".
	Kind string
	// Size is the size of the stored release, and Limit the maximum size, in bytes.
	Size, Limit int
	// Reserve is the number of bytes by which the stored release can grow during the
	// deployment.
	Reserve int
	// Parts are the largest parts of the release, by decreasing size.
	Parts []ReleasePart
}

// ReleasePart describes a part of a stored release for the message of a ReleaseTooLargeError.
type ReleasePart struct {
	// Name describes the part, as in "the files of the chart".
	Name string
	// Size is the size of the part in bytes, after compression.
	Size int
	// Largest is the name of the largest file in the part; empty if the part does not
	// consist of files.
	Largest string
}

func (p ReleasePart) String() string {
	if p.Largest == "" {
		return fmt.Sprintf("%s (%d)", p.Name, p.Size)
	}
	return fmt.Sprintf("%s (%d, the largest %s)", p.Name, p.Size, p.Largest)
}

func (e *ReleaseTooLargeError) Error() string {
	grows := ""
	if e.Reserve > 0 {
		grows = fmt.Sprintf(", and up to %d more during the deployment", e.Reserve)
	}
	parts := make([]string, len(e.Parts))
	for i, p := range e.Parts {
		parts[i] = p.String()
	}
	return fmt.Sprintf("release %s is too large to be stored: revision %d takes %d bytes%s, but a %s can have at most %d. "+
		"The largest parts are %s: exclude files with .helmignore, split the chart, or set HELM_DRIVER=chunked-secret (several Secrets) or HELM_DRIVER=sql (a database)",
		e.Release, e.Revision, e.Size, grows, e.Kind, e.Limit, strings.Join(parts, ", "))
}

// CheckSize returns a *ReleaseTooLargeError if a release does not fit into the Secret or
// ConfigMap that the storage driver with this name stores it in. With other storage drivers
// there is no limit. reserve is the number of bytes by which the stored release can grow
// during the deployment.
func CheckSize(rel *release.Release, driverName string, reserve int) error {
	if driverName != driver.SecretsDriverName && driverName != driver.ConfigMapsDriverName {
		return nil
	}
	data, err := json.Marshal(rel)
	if err != nil {
		return fmt.Errorf("write release %s: %w", rel.Name, err)
	}
	size, err := sizeInStorage(data, reserve)
	if err != nil || size+reserve <= maxStoredSize {
		return err
	}
	parts, err := largestParts(rel)
	if err != nil {
		return err
	}
	return &ReleaseTooLargeError{
		Release: rel.Name, Revision: rel.Version, Kind: driverName,
		Size: size, Limit: maxStoredSize, Reserve: reserve, Parts: parts,
	}
}

// sizeInStorage returns the size of the JSON text of a release as Helm's storage drivers store it.
// If an upper bound of it, with the reserve, is within the limit, sizeInStorage returns this bound.
func sizeInStorage(text []byte, reserve int) (int, error) {
	if size := maxCompressedSize(len(text)); size+reserve <= maxStoredSize {
		return size, nil // most releases fit even if they cannot be compressed
	}
	fast, err := compressedSizeAt(text, gzip.BestSpeed)
	if size := fast + fast/fastCompressionMargin; err != nil || size+reserve <= maxStoredSize {
		return size, err // the best compression of a large release takes long
	}
	return compressedSize(text)
}

// FitsIntoSecret reports whether Helm's storage drivers can store the JSON text of a release. It
// returns false without the best compression, which takes long, if that would have to be many
// times better than the fastest one.
func FitsIntoSecret(text []byte) (bool, error) {
	const maxGain = 8
	if len(text) > maxGain*maxStoredSize {
		if fast, err := compressedSizeAt(text, gzip.BestSpeed); err != nil || fast > maxGain*maxStoredSize {
			return false, err
		}
	}
	size, err := sizeInStorage(text, 0)
	return size <= maxStoredSize, err
}

// largestParts returns up to maxParts parts of a release, by decreasing size. It omits parts
// that are smaller than a hundredth of the largest one.
func largestParts(rel *release.Release) ([]ReleasePart, error) {
	ch := rel.Chart
	if ch == nil {
		ch = &chart.Chart{}
	}
	files := removeRecord(ch.Files)
	var orderRecord []*chart.File
	if len(files) < len(ch.Files) {
		orderRecord = slices.DeleteFunc(slices.Clone(ch.Files), func(f *chart.File) bool { return !isRecord(f) })
	}
	var parts []ReleasePart
	for _, p := range []struct {
		name, largest string
		content       any
	}{
		{"the templates of the chart", largestFile(ch.Templates), ch.Templates},
		{"the files of the chart", largestFile(files), files},
		{"the values", "", []any{ch.Values, rel.Config}},
		{"the schema of the values", "", ch.Schema},
		{"the metadata of the chart", "", []any{ch.Metadata, ch.Lock}},
		{"the order record", "", orderRecord},
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
		parts = append(parts, ReleasePart{Name: p.name, Size: size, Largest: p.largest})
	}
	slices.SortStableFunc(parts, func(a, b ReleasePart) int { return cmp.Compare(b.Size, a.Size) })
	parts = parts[:maxParts]
	return slices.DeleteFunc(parts, func(p ReleasePart) bool { return p.Size < parts[0].Size/100 }), nil
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
