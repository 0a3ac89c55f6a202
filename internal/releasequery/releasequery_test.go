// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasequery

import (
	"context"
	"errors"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube/fake"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/history/historytest"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

// partialDriver is a storage driver that can read parts of revisions. It notes what is read completely.
type partialDriver struct {
	driver.Driver
	read []string
}

func (d *partialDriver) Get(key string) (*release.Release, error) {
	d.read = append(d.read, key)
	return d.Driver.Get(key)
}

func (d *partialDriver) Query(labels map[string]string) ([]*release.Release, error) {
	d.read = append(d.read, "query")
	return d.Driver.Query(labels)
}

func (d *partialDriver) List(filter func(*release.Release) bool) ([]*release.Release, error) {
	d.read = append(d.read, "list")
	return d.Driver.List(filter)
}

func (d *partialDriver) Revisions(_ context.Context, name string) ([]releaseparts.Revision, error) {
	var found []releaseparts.Revision
	_, err := d.Driver.List(func(rel *release.Release) bool {
		if name == "" || name == rel.Name {
			bare := *rel
			bare.Manifest, bare.Config = "", nil
			found = append(found, releaseparts.Revision{Release: &bare, ID: versionID(rel.Version)})
		}
		return false
	})
	return found, err
}

func (d *partialDriver) Revision(_ context.Context, name string, revision int) (releaseparts.Revision, error) {
	rel, err := d.Driver.Get(name + ".v" + strconv.Itoa(revision))
	return releaseparts.Revision{Release: rel}, err
}

func (d *partialDriver) Newest(_ context.Context, name string) (*release.Release, error) {
	list, err := d.Driver.Query(map[string]string{"name": name, "owner": "helm"})
	if err != nil {
		return nil, err
	}
	newest := history.Newest(list)
	d.read = append(d.read, historytest.Key(newest.Version))
	return newest, nil
}

func (d *partialDriver) RevisionOf(_ context.Context, _, id string) (int, error) {
	return strconv.Atoi(strings.TrimLeft(strings.TrimPrefix(id, "01"), "0"))
}

func (d *partialDriver) IDOf(_ string, revision int) string { return versionID(revision) }

// versionID returns an ID for a revision.
func versionID(revision int) string {
	digits := strconv.Itoa(revision)
	return "01" + strings.Repeat("0", 24-len(digits)) + digits
}

// newConfiguration returns a Configuration with a release that has 12 revisions.
func newConfiguration(t *testing.T, partial bool) (*helmaction.Configuration, *partialDriver) {
	t.Helper()
	var revisions []*release.Release
	for i := range 12 {
		rel := historytest.RevisionWithChart(i+1, release.StatusSuperseded)
		if i == 11 {
			rel.Info.Status = release.StatusDeployed
		}
		rel.Config, rel.Manifest = map[string]any{"revision": i + 1}, "manifest"
		revisions = append(revisions, rel)
	}
	releases := historytest.MemoryStorage(t, revisions...)
	d := &partialDriver{Driver: releases.Driver}
	if partial {
		releases = storage.Init(d)
	}
	return &helmaction.Configuration{Releases: releases, KubeClient: &fake.PrintingKubeClient{Out: io.Discard}, Log: t.Logf}, d
}

// TestReadsOneRevision checks that the actions that return one revision read no other one completely, and return the
// same as with a storage driver that cannot read parts of revisions.
func TestReadsOneRevision(t *testing.T) {
	actions := map[string]func(cfg *helmaction.Configuration, name string, revision int) (any, error){
		"Get": func(cfg *helmaction.Configuration, name string, revision int) (any, error) {
			g := NewGet(cfg)
			g.Version = revision
			return g.Run(name)
		},
		"GetMetadata": func(cfg *helmaction.Configuration, name string, revision int) (any, error) {
			g := NewGetMetadata(cfg)
			g.Version = revision
			return g.Run(name)
		},
		"GetValues": func(cfg *helmaction.Configuration, name string, revision int) (any, error) {
			g := NewGetValues(cfg)
			g.Version = revision
			return g.Run(name)
		},
		"Status": func(cfg *helmaction.Configuration, name string, revision int) (any, error) {
			s := NewStatus(cfg)
			s.Version = revision
			return s.Run(name)
		},
	}
	for name, run := range actions {
		t.Run(name, func(t *testing.T) {
			partial, d := newConfiguration(t, true)
			whole, _ := newConfiguration(t, false)
			for _, revision := range []int{0, 12, 3} {
				d.read = nil
				got, err := run(partial, historytest.ReleaseName, revision)
				want, wantErr := run(whole, historytest.ReleaseName, revision)
				if err != nil || wantErr != nil || !reflect.DeepEqual(withoutTimes(got), withoutTimes(want)) {
					t.Errorf("revision %d: got %+v, %v, want %+v, %v", revision, got, err, want, wantErr)
				}
				number := revision
				if number == 0 {
					number = 12
				}
				if !slices.Equal(d.read, []string{historytest.Key(number)}) {
					t.Errorf("revision %d: %q was read", revision, d.read)
				}
			}
			for _, name := range []string{"other", "Not_A_Name"} {
				_, err := run(partial, name, 0)
				_, wantErr := run(whole, name, 0)
				if err == nil || err.Error() != wantErr.Error() {
					t.Errorf("release %s: got %v, want %v", name, err, wantErr)
				}
			}
		})
	}
}

// withoutTimes returns a result without what differs between two configurations.
func withoutTimes(result any) any {
	switch r := result.(type) {
	case *release.Release:
		bare := *r
		bare.Info = &release.Info{Status: r.Info.Status, Description: r.Info.Description}
		return &bare
	case *helmaction.Metadata:
		bare := *r
		bare.DeployedAt = ""
		return &bare
	}
	return result
}

func TestRevisions(t *testing.T) {
	for _, partial := range []bool{true, false} {
		cfg, d := newConfiguration(t, partial)
		h := NewHistory(cfg)
		revisions, err := h.Revisions(t.Context(), historytest.ReleaseName)
		if err != nil || len(revisions) != 12 || len(d.read) != 0 {
			t.Errorf("got %d revisions, %v, %q was read", len(revisions), err, d.read)
		}
		for _, r := range revisions {
			if (r.Release.Manifest == "") != partial || (r.ID == "") == partial {
				t.Errorf("got revision %+v", r)
			}
		}
		if _, err := h.Revisions(t.Context(), "other"); !errors.Is(err, driver.ErrReleaseNotFound) {
			t.Errorf("release other: %v", err)
		}
		if _, err := h.Revisions(t.Context(), "Not_A_Name"); err == nil || err.Error() != "release name is invalid: Not_A_Name" {
			t.Errorf("no name: %v", err)
		}
	}
}

func TestMetadataOnly(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		partial, metadataOnly bool
		complete              bool
	}{
		{"the driver can", true, true, false},
		{"the field is not set", true, false, true},
		{"the driver cannot", false, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, _ := newConfiguration(t, tt.partial)
			l := NewList(cfg)
			l.MetadataOnly, l.Filter = tt.metadataOnly, historytest.ReleaseName
			found, err := l.Run()
			if err != nil || len(found) != 1 || found[0].Version != 12 || (found[0].Manifest != "") != tt.complete {
				t.Errorf("got %+v, %v", found, err)
			}
			l.Filter = "other"
			if found, err := l.Run(); err != nil || len(found) != 0 {
				t.Errorf("with a filter: got %+v, %v", found, err)
			}
		})
	}
}

func TestParseRevision(t *testing.T) {
	partial, _ := newConfiguration(t, true)
	whole, _ := newConfiguration(t, false)
	for _, tt := range []struct {
		text string
		cfg  *helmaction.Configuration
		want int
		err  string
	}{
		{text: "7", cfg: whole, want: 7},
		{text: "-7", cfg: partial, want: -7},
		{text: versionID(7), cfg: partial, want: 7},
		{text: versionID(7), cfg: whole, err: "set HELM_DRIVER=crd"},
		{text: "seven", cfg: partial, err: strconv.ErrSyntax.Error()},
		{text: "99999999999999999999", cfg: partial, err: strconv.ErrRange.Error()},
	} {
		got, err := ParseRevision(t.Context(), tt.cfg, "shop", tt.text)
		if tt.err == "" && (err != nil || got != tt.want) || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: got %d, %v, want %d, %s", tt.text, got, err, tt.want, tt.err)
		}
	}
	if got := VersionOf(partial, "shop", 7); got != versionID(7) {
		t.Errorf("VersionOf returned %q", got)
	}
	if got := VersionOf(whole, "shop", 7); got != "" {
		t.Errorf("VersionOf returned %q for a driver without IDs", got)
	}
}

// TestWithFields checks that all exported fields are copied, and no others.
func TestWithFields(t *testing.T) {
	from := &helmaction.List{All: true, Limit: 3, Filter: "a", Sort: helmaction.ByDateAsc, StateMask: helmaction.ListAll, Selector: "b"}
	cfg := &helmaction.Configuration{}
	to := withFields(helmaction.NewList(cfg), from)
	if to.All != from.All || to.Limit != 3 || to.Filter != "a" || to.Sort != from.Sort || to.StateMask != from.StateMask || to.Selector != "b" {
		t.Errorf("got %+v", to)
	}
	if reflect.ValueOf(to).Elem().FieldByName("cfg").IsNil() {
		t.Error("the configuration was replaced")
	}
}
