// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer_test

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/plans"
)

// TestDeployOn checks which resources take part in an operation, and that the order of the others stays.
//   - "install, upgrade, rollback."
//   - "It then counts as ready, for what depends on it"
func TestDeployOn(t *testing.T) {
	all := plans.Resources("shop Job/a layer=a helm.sh/deploy-on=install", "shop Job/b layer=b after=a helm.sh/deploy-on=upgrade,rollback "+needs+"Secret/s", "shop Job/c layer=c after=b", "shop Job/d layer=c "+needs+"Secret/t helm.sh/deploy-on=rollback")
	tests := []struct {
		operation sequencer.Operation
		ignored   bool
		skipped   string
		want      []string
	}{
		{sequencer.Install, false, "Job/b Job/d", []string{"shop:a <", "shop:c < shop:a"}},
		{sequencer.Upgrade, false, "Job/a Job/d", []string{"shop:b < shop:b:(external dependencies)", "shop:b:(external dependencies) <", "shop:c < shop:b, shop:b:(external dependencies)"}},
		{sequencer.Rollback, false, "Job/a", []string{
			"shop:b < shop:b:(external dependencies)", "shop:b:(external dependencies) <",
			"shop:c < shop:b, shop:b:(external dependencies), shop:c:(external dependencies)", "shop:c:(external dependencies) < shop:b, shop:b:(external dependencies)",
		}},
		{sequencer.Uninstall, false, "", []string{"shop:a <", "shop:b < shop:a", "shop:c < shop:a, shop:b"}},
		{sequencer.Install, true, "", []string{
			"shop:a <", "shop:b < shop:a, shop:b:(external dependencies)", "shop:b:(external dependencies) < shop:a",
			"shop:c < shop:a, shop:b, shop:b:(external dependencies), shop:c:(external dependencies)", "shop:c:(external dependencies) < shop:a, shop:b, shop:b:(external dependencies)",
		}},
	}
	for _, tt := range tests {
		t.Run(string(tt.operation), func(t *testing.T) {
			p, err := sequencer.Build(sequencer.Input{Root: plans.V3("shop"), Resources: all, Namespace: "default", Operation: tt.operation, IgnoreDeployOn: tt.ignored})
			if err != nil {
				t.Fatal(err)
			}
			var skipped []string
			for _, r := range p.Skipped {
				skipped = append(skipped, r.ID.String())
			}
			if got := strings.Join(skipped, " "); got != tt.skipped {
				t.Errorf("skipped %s, want %s", got, tt.skipped)
			}
			if got, want := after(t, p), strings.Join(tt.want, "\n"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// TestDeployOnOfReferences checks that a resource that does not take part counts as ready for references to it: an object that
// comes too late for a pod is no problem then.
//   - "It then counts as ready, for what depends on it and for references to it"
func TestDeployOnOfReferences(t *testing.T) {
	resources := []sequencer.Resource{
		plans.ParseResource(t, "{apiVersion: v1, kind: Pod, metadata: {name: from, annotations: {helm.sh/layer: first}}, spec: {serviceAccountName: to}}"),
		plans.ParseResource(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: to, annotations: {helm.sh/deploy-on: install}}}"),
	}
	for operation, want := range map[sequencer.Operation]int{sequencer.Install: 1, sequencer.Upgrade: 0, sequencer.Rollback: 0, "": 1} {
		p, err := sequencer.Build(sequencer.Input{Root: plans.V3("shop"), Resources: resources, Namespace: "default", Operation: operation})
		if err != nil || len(p.Unmet) != want {
			t.Errorf("%s: got %v, %v, want %d unmet needs", operation, p.Unmet, err, want)
		}
	}
}
