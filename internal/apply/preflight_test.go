// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"testing"

	"github.com/ordered-helm/helm/internal/apply"
	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// existenceReader is a cluster in which all objects exist, or none, or in which they cannot be read.
type existenceReader struct {
	cluster.Reader
	exists, denied bool
}

func (r existenceReader) Exists(context.Context, string, sequencer.ID) (exists, denied bool, err error) {
	return r.exists, r.denied, nil
}

// TestCheckNeeds checks which references that the order cannot satisfy are accepted because of
// what is in the cluster.
func TestCheckNeeds(t *testing.T) {
	node := &sequencer.Node{Chart: "shop", Unsequenced: true}
	ofResource := sequencer.UnmetNeed{From: &sequencer.PlannedResource{}, To: &sequencer.PlannedResource{}, FromNode: node, ToNode: node}
	ofHook := sequencer.UnmetNeed{From: &sequencer.PlannedResource{}, To: &sequencer.PlannedResource{}, FromNode: node, HookProblem: "which is late"}
	for _, tt := range []struct {
		name    string
		need    sequencer.UnmetNeed
		reader  existenceReader
		rejects bool
	}{
		{"resource", ofResource, existenceReader{}, true},
		{"resource that exists", ofResource, existenceReader{exists: true}, false},
		{"resource that cannot be read", ofResource, existenceReader{denied: true}, true},
		{"hook", ofHook, existenceReader{}, true},
		{"hook that exists", ofHook, existenceReader{exists: true}, false},
		{"hook that cannot be read", ofHook, existenceReader{denied: true}, false},
	} {
		err := apply.CheckNeeds(t.Context(), tt.reader, &sequencer.Plan{Unmet: []sequencer.UnmetNeed{tt.need}})
		if (err != nil) != tt.rejects {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}
