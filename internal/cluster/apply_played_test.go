// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
)

// played is a Helm client of another make.
type played struct {
	kube.Interface
	originals, targets kube.ResourceList
	force              bool
	err                error
}

func (p *played) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	p.originals, p.targets, p.force = original, target, force
	return &kube.Result{Created: target[:1], Updated: target[1:]}, p.err
}

type playedThreeWay struct{ *played }

func (p playedThreeWay) UpdateThreeWayMerge(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	_, _ = p.Update(original, target, force)
	return nil, errors.New("three-way")
}

// TestApplyPlayed leaves the work to a client of another make, which must not
// come to delete anything.
func TestApplyPlayed(t *testing.T) {
	api := newFakeAPI(t)
	originals := objects(t, settings("gone", ""), settings("b", ""))
	list := objects(t, settings("a", ""), settings("b", ""))
	for _, c := range []struct {
		name     string
		client   func(*played) kube.Interface
		threeWay bool
		err      error
		want     string
	}{
		{name: "merged", client: func(p *played) kube.Interface { return p }},
		{name: "failing", client: func(p *played) kube.Interface { return p }, err: errors.New("its own"), want: "its own"},
		{name: "three-way", client: func(p *played) kube.Interface { return playedThreeWay{p} }, threeWay: true, want: "three-way"},
		{name: "not three-way", client: func(p *played) kube.Interface { return p }, threeWay: true, want: "a Kubernetes client of type *cluster.played cannot merge three-way, which taking ownership needs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &played{err: c.err}
			client := New(c.client(p), fakeGetter{api}, nil)
			applied, err := client.Apply(t.Context(), list, ApplyOptions{Originals: originals, Force: true, ThreeWay: c.threeWay})
			if (err != nil) != (c.want != "") || err != nil && err.Error() != c.want {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if c.threeWay {
				if len(applied.Created) != 0 || (p.targets != nil) != (c.name == "three-way") {
					t.Errorf("got %v", applied)
				}
				return
			}
			if got := names(p.originals); !slices.Equal(got, []string{"ConfigMap/b"}) || !p.force || len(p.targets) != 2 {
				t.Errorf("it got %v, %v, %v", got, names(p.targets), p.force)
			}
			if len(applied.Created) != 1 || len(applied.Updated) != 1 {
				t.Errorf("got %v", applied)
			}
		})
	}
	if len(api.calls) != 0 {
		t.Errorf("requests %q", api.log())
	}
}
