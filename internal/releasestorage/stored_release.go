// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasestorage

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"helm.sh/helm/v3/pkg/release"
)

var releaseType = reflect.TypeFor[release.Release]()

// decode returns the JSON text of a release in the form in which Helm's storage drivers store
// it: encoded in base64, and usually compressed with gzip.
func decode(stored string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(stored)
	if err != nil {
		return nil, err
	}
	gzipHeader := []byte{0x1f, 0x8b, 0x08}
	if !bytes.HasPrefix(data, gzipHeader) {
		return data, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// encode is the inverse of decode. It compresses the text like Helm's storage drivers.
func encode(text []byte) (string, error) {
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
	text, err := decode(stored)
	if err != nil {
		return nil, fmt.Errorf("decode the stored release: %w", err)
	}
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

// addToStored returns a stored release with the unknown fields. If u is nil, it returns stored
// unchanged.
func (u *unknownFields) addToStored(stored string) (string, error) {
	if u == nil {
		return stored, nil
	}
	text, err := decode(stored)
	if err == nil {
		text, err = u.addTo(text, releaseType)
	}
	if err != nil {
		return "", fmt.Errorf("keep the fields of a newer version of Helm: %w", err)
	}
	return encode(text)
}
