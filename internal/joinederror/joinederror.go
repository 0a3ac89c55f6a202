// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package joinederror splits errors that were combined with errors.Join.
package joinederror

// Split returns the individual errors that errors.Join combined in err, also if they were
// joined repeatedly. It returns nil if err is nil, and only err if it was not joined.
func Split(err error) []error {
	joined, isJoined := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !isJoined:
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, Split(e)...)
	}
	return all
}
