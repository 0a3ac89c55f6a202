// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/releaseapi"
)

// TestRepair checks which versions belong to a Release that somebody has edited.
func TestRepair(t *testing.T) {
	t.Parallel()
	ended, pending := release.StatusDeployed, release.StatusPendingUpgrade
	version := func(name string, revision int64, phase release.Status) *releaseapi.ReleaseVersion {
		v := releaseapi.NewReleaseVersion("here", name, releaseapi.ReleaseVersionSpec{ReleaseName: "shop", Revision: revision})
		v.Status.Phase = phase
		return v
	}
	for name, tt := range map[string]struct {
		latest   string
		revision int64
		versions []*releaseapi.ReleaseVersion
		want     string // revision, newest version, committed versions
	}{
		"not edited":                  {"b", 2, []*releaseapi.ReleaseVersion{version("a", 1, ended), version("b", 2, ended)}, "2 b: a b"},
		"running":                     {"b", 2, []*releaseapi.ReleaseVersion{version("a", 1, ended), version("b", 2, pending)}, "2 b: a b"},
		"not committed":               {"a", 1, []*releaseapi.ReleaseVersion{version("a", 1, ended), version("b", 2, pending)}, "1 a: a"},
		"no revision committed":       {"", 0, []*releaseapi.ReleaseVersion{version("a", 1, pending)}, "0 : "},
		"another one has the number":  {"c", 2, []*releaseapi.ReleaseVersion{version("a", 1, ended), version("b", 2, ended), version("c", 2, pending)}, "2 c: a c"},
		"empty status":                {"", 0, []*releaseapi.ReleaseVersion{version("a", 1, ended), version("b", 2, ended)}, "2 b: a b"},
		"older version":               {"a", 1, []*releaseapi.ReleaseVersion{version("a", 1, ended), version("b", 2, ended)}, "2 b: a b"},
		"smaller number":              {"b", 1, []*releaseapi.ReleaseVersion{version("a", 1, ended), version("b", 2, pending)}, "2 b: a b"},
		"greater number":              {"b", 9, []*releaseapi.ReleaseVersion{version("a", 1, ended), version("b", 2, ended)}, "2 b: a b"},
		"unknown version":             {"x", 2, []*releaseapi.ReleaseVersion{version("a", 1, ended), version("b", 2, ended)}, "2 b: a b"},
		"newest deleted":              {"c", 3, []*releaseapi.ReleaseVersion{version("a", 1, ended), version("b", 2, ended)}, "2 b: a b"},
		"newest deleted, then killed": {"c", 3, []*releaseapi.ReleaseVersion{version("a", 1, ended), version("b", 2, pending)}, "2 b: a b"},
		"all deleted":                 {"c", 3, nil, "3 c: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := releaseapi.NewRelease("here", "shop")
			parent.Status.LatestVersion, parent.Status.Revision = tt.latest, tt.revision
			for range 2 { // in both orders
				repair(map[string]*releaseapi.Release{"here/shop": parent}, tt.versions)
				var committed []string
				for _, v := range tt.versions {
					if isCommitted(parent, v) {
						committed = append(committed, v.Name)
					}
				}
				slices.Sort(committed)
				if got := fmt.Sprintf("%d %s: %s", parent.Status.Revision, parent.Status.LatestVersion, strings.Join(committed, " ")); got != tt.want {
					t.Errorf("%s, want %s", got, tt.want)
				}
				slices.Reverse(tt.versions)
			}
		})
	}
}
