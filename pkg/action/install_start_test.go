// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/history/historytest"
)

// TestCheckNameIsFreeWithDamagedRecord checks that a release is not replaced if its last revision
// is stored with data that Helm would not have stored.
func TestCheckNameIsFreeWithDamagedRecord(t *testing.T) {
	for name, corrupt := range map[string]func(*release.Release){
		"no status":     func(rel *release.Release) { rel.Info = nil },
		"an empty hook": func(rel *release.Release) { rel.Hooks = []*release.Hook{nil} },
		"another name":  func(rel *release.Release) { rel.Name = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := newConfiguration(t, historytest.RevisionWithChart(1, release.StatusSuperseded), historytest.RevisionWithChart(2, release.StatusDeployed))
			cfg.Releases.Driver = &historytest.CorruptingDriver{Driver: cfg.Releases.Driver, Corrupt: corrupt}
			i := NewInstall(cfg)
			i.ReleaseName, i.Replace = historytest.ReleaseName, true
			var damaged *history.DamagedError
			if _, err := i.checkNameIsFree(deploying); !errors.As(err, &damaged) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestCheckNameIsFree checks that a name is free if there is no release and, as in Helm, if the
// account is not allowed to list releases, but not if the storage cannot be read.
func TestCheckNameIsFree(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		free bool
	}{
		"not found":      {err: driver.ErrReleaseNotFound, free: true},
		"forbidden":      {err: fmt.Errorf("query: %w", apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", nil)), free: true},
		"internal error": {err: apierrors.NewInternalError(errors.New("no"))},
	} {
		cfg := newConfiguration(t)
		cfg.Releases.Driver = &historytest.QueryErrorDriver{Driver: cfg.Releases.Driver, Err: tt.err}
		i := NewInstall(cfg)
		i.ReleaseName = historytest.ReleaseName
		if _, err := i.checkNameIsFree(deploying); (err == nil) != tt.free {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
