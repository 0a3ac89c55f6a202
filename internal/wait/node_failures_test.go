// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// TestRemedy checks that the advice to set an annotation is given only where it has an effect.
func TestRemedy(t *testing.T) {
	plan, err := sequencer.Build(sequencer.Input{Root: &sequencer.Chart{
		Name: "shop", Sequenced: true, Subcharts: []*sequencer.Chart{{Name: "db"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, chart   string
		timeout, flag time.Duration
		want          string
	}{
		{"chart with an order", "shop", 0, 0, "to allow more time, set the annotation helm.sh/readiness-timeout, or use --readiness-timeout"},
		{"flag", "shop", 0, time.Second, "to allow more time, set the annotation helm.sh/readiness-timeout, or increase --readiness-timeout"},
		{"annotated", "shop", time.Minute, 0, "to allow more time, increase helm.sh/readiness-timeout"},
		{"subchart whose order is ignored", "shop/db", 0, 0,
			"to allow more time, use --readiness-timeout (annotations are ignored, because chart shop/db does not enable its order)"},
	} {
		w := &watchingNodeWaiter{NodeWaiterConfig: NodeWaiterConfig{Plan: plan}}
		w.Timeouts.Operation, w.Timeouts.Readiness = time.Hour, tt.flag
		if got := w.remedy(&sequencer.Node{Chart: tt.chart, Awaited: true}, &sequencer.PlannedResource{Timeout: tt.timeout}); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
