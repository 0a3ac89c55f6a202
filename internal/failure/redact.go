// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import "github.com/ordered-helm/helm/internal/redact"

// Redact returns err without the contents of Secrets, both in its text and in each Resource
// that it is or wraps.
func Redact(redactor *redact.Redactor, err error) error {
	RedactResources(redactor, err)
	return redactor.Error(err)
}

// RedactResources removes the contents of Secrets from each Resource that err is or wraps.
// It does not write to a Resource without such contents, because other goroutines may be
// reading it.
func RedactResources(redactor *redact.Redactor, err error) {
	if f, ok := err.(*Resource); ok { //nolint:errorlint // this function itself visits all wrapped errors
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
