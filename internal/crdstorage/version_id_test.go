// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"bytes"
	"crypto/rand"
	mathrand "math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestVersionIDsIncrease checks that IDs increase although the clock goes back and stands still.
func TestVersionIDsIncrease(t *testing.T) {
	r := mathrand.New(mathrand.NewPCG(1, 2))
	now, previous := time.Unix(1_700_000_000, 0), ""
	for i := range 5000 {
		now = now.Add(time.Duration(r.IntN(3)-1) * time.Duration(r.IntN(10_000)) * time.Millisecond)
		id, err := nextVersionID(now, previous, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if id <= previous || id != strings.ToLower(id) || !IsVersionID(id) || !IsVersionID(strings.ToUpper(id)) {
			t.Fatalf("ID %d is %q, after %q", i, id, previous)
		}
		previous = id
	}
}

func TestVersionIDs(t *testing.T) {
	now := time.UnixMilli(1_469_918_176_385)
	zeros := bytes.Repeat([]byte{0}, 100)
	for _, tt := range []struct {
		name, previous, want, err string
	}{
		{"first", "", "01aryz6s410000000000000000", ""},
		{"after an earlier one", "01aryz6s40zzzzzzzzzzzzzzzz", "01aryz6s410000000000000000", ""},
		{"at the same time", "01aryz6s410000000000000000", "01aryz6s410000000000000001", ""},
		{"the clock went back", "01bryz6s410000000000000009", "01bryz6s41000000000000000a", ""},
		{"the random part is at its end", "01bryz6s41zzzzzzzzzzzzzzzz", "01bryz6s420000000000000000", ""},
		{"the last of all", "7zzzzzzzzzzzzzzzzzzzzzzzzz", "", "there is no ID after"},
		{"the previous one is invalid", "shop", "", `"shop" is not the ID of a revision`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := nextVersionID(now, tt.previous, bytes.NewReader(zeros))
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %q, %v, want %q, %q", got, err, tt.want, tt.err)
			}
		})
	}
}
