// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasestorage

import (
	"fmt"
	"strings"
	"testing"
)

// TestFieldCacheIsLimited checks that the cache forgets the releases that were recorded first, and
// that a release that it has forgotten is read again.
func TestFieldCacheIsLimited(t *testing.T) {
	const count = 10
	stored, err := Encode([]byte(`{"apply_method": "ssa"}`))
	if err != nil {
		t.Fatal(err)
	}
	c := newFieldCache()
	for i := range count {
		c.recordRead(fmt.Sprint(i), strings.Repeat("x", maxCacheSize/count))
		if c.size > maxCacheSize {
			t.Fatalf("the size is %d", c.size)
		}
	}
	c.recordRead("last", stored)
	reads := 0
	read := func() (string, error) { reads++; return stored, nil }
	for _, key := range []string{"last", "0", "0"} {
		if unknown, err := c.unknownFields(key, read); err != nil || unknown == nil {
			t.Errorf("%s: got %v, %v", key, unknown, err)
		}
	}
	if reads != 1 {
		t.Errorf("releases were read %d times", reads)
	}
	for _, key := range append([]string{"last"}, c.keys...) {
		c.recordDeleted(key)
	}
	if c.size != 0 || len(c.entries)+len(c.keys) != 0 {
		t.Errorf("the cache has %d bytes and %d keys after everything was deleted", c.size, len(c.keys))
	}
}
