// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package recreation

import (
	"testing"

	"helm.sh/helm/v3/pkg/release"
)

// TestMayHaveCopies checks after which revisions copies are read, and which copies count.
func TestMayHaveCopies(t *testing.T) {
	for _, tt := range []struct {
		name     string
		statuses []release.Status
		may      bool
		deployed int
	}{
		{"no revision", nil, false, 0},
		{"deployed", []release.Status{release.StatusSuperseded, release.StatusDeployed}, false, 2},
		{"failed", []release.Status{release.StatusDeployed, release.StatusFailed}, true, 1},
		{"interrupted", []release.Status{release.StatusDeployed, release.StatusFailed, release.StatusPendingUpgrade}, true, 1},
		{"never deployed", []release.Status{release.StatusFailed}, true, 0},
		{"deployed after a failure", []release.Status{release.StatusDeployed, release.StatusFailed, release.StatusDeployed}, false, 3},
	} {
		var revisions []*release.Release
		for i, status := range tt.statuses {
			revisions = append([]*release.Release{{Version: i + 1, Info: &release.Info{Status: status}}}, revisions...)
		}
		if may, deployed := mayHaveCopies(revisions), lastDeployed(revisions); may != tt.may || deployed != tt.deployed {
			t.Errorf("%s: got %t, %d", tt.name, may, deployed)
		}
	}
}
