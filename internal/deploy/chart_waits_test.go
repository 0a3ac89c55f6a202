// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/chartgen"
)

// TestLastNodes checks for each chart of random plans that its last nodes are such that whatever is deployed
// after the chart is deployed after all of them.
func TestLastNodes(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // not for security
	found := 0
	for range 300 {
		p, err := sequencer.Build(chartgen.Random(random).Input())
		if err != nil {
			continue // an invalid order
		}
		for _, c := range p.Charts {
			last := lastNodes(p, strings.ReplaceAll(c.Path, "/", "/charts/"))
			found += len(last)
			checkLastNodes(t, p, c.Path, last)
		}
	}
	if found == 0 {
		t.Error("no chart has last nodes")
	}
}

func checkLastNodes(t *testing.T, p *sequencer.Plan, chart string, last map[string]bool) {
	t.Helper()
	isInside := func(i int) bool { return p.Nodes[i].Chart == chart || strings.HasPrefix(p.Nodes[i].Chart, chart+"/") }
	for i, n := range p.Nodes {
		if last[n.ID()] && !isInside(i) {
			t.Errorf("%s is a last node of %s", n.ID(), chart)
		}
		for j, other := range p.Nodes {
			switch {
			case !p.ComesAfter(i, j) || !isInside(j):
			case isInside(i) && last[other.ID()]:
				t.Errorf("%s is a last node of %s, but %s comes after it", other.ID(), chart, n.ID())
			case !isInside(i) && len(last) == 0:
				t.Errorf("%s comes after %s, but %s has no last nodes", n.ID(), other.ID(), chart)
			case !isInside(i):
				checkAfterAll(t, p, i, last)
			}
		}
	}
}

// checkAfterAll checks that node i comes after all last nodes.
func checkAfterAll(t *testing.T, p *sequencer.Plan, i int, last map[string]bool) {
	t.Helper()
	for k, n := range p.Nodes {
		if last[n.ID()] && !p.ComesAfter(i, k) {
			t.Errorf("%s does not come after %s", p.Nodes[i].ID(), n.ID())
		}
	}
}
