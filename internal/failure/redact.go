// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import "github.com/ordered-helm/helm/internal/redact"

// Redact returns err without the contents of Secrets, both in its text and in each Resource
// that it wraps.
func Redact(redactor *redact.Redactor, err error) error {
	RedactResources(redactor, err)
	return redactor.Error(err)
}

// RedactResources redacts the contents of Secrets in each Resource that err wraps. It
// writes only to those with such contents, because other goroutines may be reading the
// others.
func RedactResources(redactor *redact.Redactor, err error) {
	if f, ok := err.(*Resource); ok { //nolint:errorlint // each error of the tree is visited separately
		if redacted := redactor.ServerMessage(f.Message); redacted != f.Message {
			f.Message = redacted
		}
		if f.Err != nil && redactor.ServerMessage(f.Err.Error()) != f.Err.Error() {
			f.Err = redactor.Error(f.Err)
		}
		return
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		RedactResources(redactor, e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			RedactResources(redactor, part)
		}
	}
}
