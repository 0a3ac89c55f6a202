// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseparts

import (
	"bytes"
	"encoding/json"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
)

// TestMarshal checks that the JSON text of a release is that of encoding/json.
func TestMarshal(t *testing.T) {
	t.Parallel()
	file := func(name string, size int) *chart.File {
		return &chart.File{Name: name, Data: bytes.Repeat([]byte(name), size)}
	}
	for name, ch := range map[string]*chart.Chart{
		"no chart":    nil,
		"no files":    {Metadata: &chart.Metadata{Name: "shop"}},
		"small files": {Templates: []*chart.File{file("a", 1), nil, {Name: "empty", Data: []byte{}}, {Name: "nil"}}},
		"large files": {
			Templates: []*chart.File{file("a", 1), file("b", minLargeFile), file("c", minLargeFile-1)},
			Values:    map[string]any{"data": "x"},
			Files:     []*chart.File{file("d", minLargeFile+1), nil, file("e", 3), file("f", 2*minLargeFile+2)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rel := &release.Release{Name: "shop", Chart: ch, Manifest: "<a>"}
			got, err := marshal(rel)
			if err != nil {
				t.Fatal(err)
			}
			if want, err := json.Marshal(rel); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes differ from %d bytes, %v", len(got), len(want), err)
			}
		})
	}
}
