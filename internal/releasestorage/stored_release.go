// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasestorage

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"

	"helm.sh/helm/v3/pkg/release"
)

var releaseType = reflect.TypeFor[release.Release]()

// Decoder decodes stored releases. It uses its memory for one release after the other. Its zero
// value can be used.
type Decoder struct {
	compressed []byte
	text       bytes.Buffer
	gzip       gzip.Reader
}

// Text returns the JSON text of a release in the form in which Helm's storage drivers store it:
// encoded in base64, and usually compressed with gzip. It is valid until the next call.
func (d *Decoder) Text(stored []byte) ([]byte, error) {
	if size := base64.StdEncoding.DecodedLen(len(stored)); len(d.compressed) < size {
		d.compressed = make([]byte, size)
	}
	n, err := base64.StdEncoding.Decode(d.compressed, stored)
	if err != nil {
		return nil, err
	}
	data, gzipHeader := d.compressed[:n], []byte{0x1f, 0x8b, 0x08}
	if !bytes.HasPrefix(data, gzipHeader) {
		return data, nil
	}
	if err := d.gzip.Reset(bytes.NewReader(data)); err != nil {
		return nil, err
	}
	d.text.Reset()
	if _, err := d.text.ReadFrom(&d.gzip); err != nil {
		return nil, err
	}
	return d.text.Bytes(), nil
}

// Encode is the inverse of Decoder.Text. It compresses the text like Helm's storage drivers.
func Encode(text []byte) (string, error) {
	var buffer bytes.Buffer
	w, err := gzip.NewWriterLevel(&buffer, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(text); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(buffer.Bytes()), nil
}

// unknownFieldsOf returns the fields of a stored release that Helm's type release.Release does
// not have; nil if there are none.
func unknownFieldsOf(stored string) (*unknownFields, error) {
	text, err := new(Decoder).Text([]byte(stored))
	if err != nil {
		return nil, fmt.Errorf("decode the stored release: %w", err)
	}
	return unknownFieldsIn(text)
}

// unknownFieldsIn is like unknownFieldsOf, but for the JSON text of a release.
func unknownFieldsIn(text []byte) (*unknownFields, error) {
	// This is much faster than findUnknownFields. Most releases have no unknown fields.
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(new(release.Release)); err == nil {
		return nil, nil
	}
	found, err := findUnknownFields(text, releaseType)
	if err != nil {
		return nil, fmt.Errorf("decode the stored release: %w", err)
	}
	return found, nil
}

// KeepUnknownFields returns the JSON text of a release with those fields of before, the text that
// it replaces, that Helm's type release.Release does not have. If there are none, it returns text
// itself, and kept is false.
func KeepUnknownFields(before, text []byte) (with []byte, kept bool, err error) {
	unknown, err := unknownFieldsIn(before)
	if err != nil || unknown == nil {
		return text, false, err
	}
	if with, err = unknown.addTo(text, releaseType); err != nil {
		return nil, false, fmt.Errorf("keep the fields of a newer version of Helm: %w", err)
	}
	return with, true, nil
}

// addToStored returns a stored release with the unknown fields. If u is nil, it returns stored
// unchanged.
func (u *unknownFields) addToStored(stored string) (string, error) {
	if u == nil {
		return stored, nil
	}
	text, err := new(Decoder).Text([]byte(stored))
	if err == nil {
		text, err = u.addTo(text, releaseType)
	}
	if err != nil {
		return "", fmt.Errorf("keep the fields of a newer version of Helm: %w", err)
	}
	return Encode(text)
}
