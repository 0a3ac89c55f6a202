// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"crypto/rand"
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// maxIncrement is the maximum difference between the random parts of an ID and its predecessor, if both have
// the same time.
const maxIncrement = 1 << 32

// nextVersionID returns a new ULID, in lower case. It is greater than previous, the ID of the version before,
// also if the clock has gone back; previous can be empty.
func nextVersionID(now time.Time, previous string, random io.Reader) (string, error) {
	var last ulid.ULID
	if previous != "" {
		var err error
		if last, err = parseVersionID(previous); err != nil {
			return "", err
		}
	}
	id, err := ulid.New(ulid.Timestamp(now), random)
	if err != nil {
		return "", fmt.Errorf("create the ID of a revision: %w", err)
	}
	if id.Compare(last) <= 0 {
		if id, err = successor(last, random); err != nil {
			return "", fmt.Errorf("create the ID of a revision: %w", err)
		}
	}
	return strings.ToLower(id.String()), nil
}

// parseVersionID parses a ULID in lower or upper case.
func parseVersionID(text string) (ulid.ULID, error) {
	id, err := ulid.ParseStrict(strings.ToUpper(text))
	if err != nil {
		return id, fmt.Errorf("%q is not the ID of a revision: %w", text, err)
	}
	return id, nil
}

// IsVersionID reports whether a text is the ID of a revision, in lower or upper case.
func IsVersionID(text string) bool {
	_, err := parseVersionID(text)
	return err == nil
}

// successor returns an ULID that is greater than id by a random number.
func successor(id ulid.ULID, random io.Reader) (ulid.ULID, error) {
	increment, err := rand.Int(random, big.NewInt(maxIncrement))
	if err != nil {
		return id, err
	}
	next := new(big.Int).SetBytes(id[:])
	next.Add(next, increment.Add(increment, big.NewInt(1)))
	if next.BitLen() > 8*len(id) {
		return id, fmt.Errorf("there is no ID after %s", id)
	}
	next.FillBytes(id[:])
	return id, nil
}
