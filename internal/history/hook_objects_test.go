// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"reflect"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

func hookObject(name, uid string) orderrecord.HookObject {
	return orderrecord.HookObject{Leftover: orderrecord.Leftover{APIVersion: "v1", Kind: "ConfigMap", Namespace: "test", Name: name}, UID: uid}
}

// withHookObjects returns a revision whose record was written for the revision writtenFor.
func withHookObjects(t *testing.T, revision, writtenFor int, list ...orderrecord.HookObject) *release.Release {
	t.Helper()
	ch, err := orderrecord.WithRecord(&chart.Chart{Metadata: &chart.Metadata{Name: "shop"}}, &orderrecord.Record{
		Charts: &sequencer.Chart{Name: "shop"}, HookObjects: &orderrecord.HookObjects{Revision: writtenFor, Objects: list},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &release.Release{Name: "shop", Version: revision, Chart: ch, Info: &release.Info{}}
}

func TestHookObjectsAreRecorded(t *testing.T) {
	rel := &release.Release{Name: "shop", Version: 2, Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "shop"}}, Info: &release.Info{}}
	w := NewStore(nil, t.Logf).NewWriter(rel)
	expect := func(when string, want ...orderrecord.HookObject) {
		t.Helper()
		s, err := w.current.snapshot()
		if err != nil {
			t.Fatal(err)
		}
		stored := orderrecord.HookObjectsOf(s.rel)
		if stored == nil {
			stored = &orderrecord.HookObjects{}
		}
		if got := stored.Objects; len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", when, got, want)
		}
	}
	w.HookObjects.Expect(hookObject("a", ""))
	expect("the release cannot contain a record")
	if err := w.SetStoredRecord(nil); err != nil {
		t.Fatal(err)
	}
	w.HookObjects.Set(nil)
	w.HookObjects.Forget(func(orderrecord.HookObject) bool { return true })
	if s, _ := w.current.snapshot(); len(s.rel.Chart.Files) > 0 {
		t.Error("there is a record although there are no objects")
	}
	w.HookObjects.Expect(hookObject("a", ""))
	w.HookObjects.Created(hookObject("b", "1"))
	expect("a is expected", hookObject("a", ""), hookObject("b", "1"))
	w.HookObjects.Expect(hookObject("b", ""))
	expect("b is expected again", hookObject("a", ""), hookObject("b", "1"))
	w.HookObjects.Created(hookObject("a", "2"))
	expect("a was created", hookObject("b", "1"), hookObject("a", "2"))
	w.HookObjects.Created(hookObject("b", "3"))
	expect("b was created again", hookObject("a", "2"), hookObject("b", "3"))
	w.HookObjects.Forget(hookObject("a", "").IsSameName)
	expect("a was deleted", hookObject("b", "3"))
	w.HookObjects.Forget(hookObject("b", "").IsSameName)
	expect("b was deleted")
	if err := w.Progress.Finish(true); err != nil {
		t.Fatal(err)
	}
	if s, _ := w.current.snapshot(); orderrecord.HookObjectsOf(s.rel) == nil {
		t.Error("the empty list is not stored, so those of earlier revisions would count")
	}
}

func TestCurrentHookObjects(t *testing.T) {
	a, b := hookObject("a", "1"), hookObject("b", "2")
	plain := &release.Release{Version: 9, Chart: &chart.Chart{}}
	for _, tt := range []struct {
		name      string
		revisions []*release.Release
		want      []orderrecord.HookObject
	}{
		{"no revisions", nil, nil},
		{"the newest counts", []*release.Release{withHookObjects(t, 3, 3, b), withHookObjects(t, 2, 2, a)}, []orderrecord.HookObject{b}},
		{"an empty list counts", []*release.Release{withHookObjects(t, 2, 2, a), withHookObjects(t, 3, 3)}, nil},
		{"a revision of stock Helm does not count", []*release.Release{withHookObjects(t, 2, 2, a), plain}, []orderrecord.HookObject{a}},
		{"a copy by stock Helm's rollback does not count", []*release.Release{withHookObjects(t, 2, 2, a), withHookObjects(t, 3, 1, b)}, []orderrecord.HookObject{a}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := CurrentHookObjects(tt.revisions); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
