// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lualib

import "io"

// Limited returns a reader that ends one byte after the maximum length of a string, and fails if the
// script must end. If maxString is not positive, there is no maximum.
func Limited(host interface{ Charge(size int) error }, source io.Reader, maxString int) io.Reader {
	checked := ReaderFunc(func(p []byte) (int, error) {
		if err := host.Charge(len(p)); err != nil {
			return 0, err
		}
		return source.Read(p)
	})
	if maxString <= 0 {
		return checked
	}
	return io.LimitReader(checked, int64(maxString)+1)
}

// ReaderFunc is a function that implements io.Reader.
type ReaderFunc func(p []byte) (int, error)

func (f ReaderFunc) Read(p []byte) (int, error) { return f(p) }
