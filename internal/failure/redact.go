// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import "github.com/ordered-helm/helm/internal/diagnosis"

// Redact returns an error without the contents of Secrets, in its own text and in the
// failures of resources that it consists of.
func Redact(masker *diagnosis.Masker, err error) error {
	RedactResources(masker, err)
	return masker.Conceal(err)
}

// RedactResources removes the contents of Secrets from the failures of resources in an
// error. It changes only the failures that contain any, because others may be reading
// the rest.
func RedactResources(masker *diagnosis.Masker, err error) {
	if f, ok := err.(*Resource); ok { //nolint:errorlint // each error of the tree is visited by itself
		if redacted := masker.Refusal(f.Message); redacted != f.Message {
			f.Message = redacted
		}
		if f.Err != nil && masker.Refusal(f.Err.Error()) != f.Err.Error() {
			f.Err = masker.Conceal(f.Err)
		}
		return
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		RedactResources(masker, e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			RedactResources(masker, part)
		}
	}
}
