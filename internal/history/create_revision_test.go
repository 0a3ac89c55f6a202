// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/history/historytest"
)

// TestCreateConflict creates a revision that another operation has created first. It checks
// that Create fails and deletes nothing, whatever the history limit is.
func TestCreateConflict(t *testing.T) {
	for limit, want := range map[int][]int{0: {1, 2, 3}, 1: {1, 2, 3}, 2: {1, 2, 3}, 10: {1, 2, 3}} {
		releases := historytest.MemoryStorage(t,
			historytest.Revision(1, release.StatusDeployed), historytest.Revision(2, release.StatusFailed), historytest.Revision(3, release.StatusPendingUpgrade))
		releases.MaxHistory = limit
		_, err := NewStore(releases, t.Logf).Create(historytest.Revision(3, release.StatusPendingUpgrade), nil)
		if !errors.Is(err, driver.ErrReleaseExists) || !strings.HasSuffix(err.Error(), "another operation created revision 3 of release rel in the meantime; nothing was changed, try again") {
			t.Errorf("limit %d: got %v", limit, err)
		}
		if got := historytest.Versions(t, releases); !slices.Equal(got, want) {
			t.Errorf("limit %d: left %v, want %v", limit, got, want)
		}
	}
}
