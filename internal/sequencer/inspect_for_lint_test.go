// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/plans"
)

// TestInspect checks that all errors are found, not only the first ones that Build reports.
func TestInspect(t *testing.T) {
	root := plans.V3("shop")
	root.DependsOnSubcharts = []string{"nowhere"}
	in := sequencer.Input{Root: root, Namespace: "default", Resources: plans.Resources(
		"shop ConfigMap/a layer=a depends-on.helm.sh/layers=b", "shop ConfigMap/b layer=b depends-on.helm.sh/layers=a",
		"shop ConfigMap/c layer=c depends-on.helm.sh/layers=c", "shop ConfigMap/d layer=d depends-on.helm.sh/layers=unknown",
		"shop ConfigMap/e helm.sh/readiness-timeout=never helm.sh/readiness-success=never", "shop ConfigMap/e",
	)}
	got := sequencer.Inspect(in)
	var found []string
	for _, problem := range got.Errors {
		var resource *sequencer.ResourceError
		var duplicate *sequencer.DuplicateError
		var subchart *sequencer.UnknownSubchartError
		var cycle *sequencer.CycleError
		switch {
		case errors.As(problem, &resource):
			found = append(found, "resource")
		case errors.As(problem, &duplicate):
			found = append(found, "duplicate")
		case errors.As(problem, &subchart):
			found = append(found, "subchart "+subchart.Name)
		case errors.As(problem, &cycle):
			found = append(found, "cycle of "+cycle.Edges[0].From)
		default:
			t.Errorf("got %v", problem)
		}
	}
	want := []string{"resource", "resource", "duplicate", "subchart nowhere", `cycle of layer "a"`, `cycle of layer "c"`}
	if !slices.Equal(found, want) || got.Plan != nil {
		t.Errorf("found %q, want %q", found, want)
	}
	if len(got.Warnings) != 1 || got.Warnings[0].Kind != sequencer.WarningUnknownLayer || got.Warnings[0].Name != "unknown" {
		t.Errorf("warnings %v", got.Warnings)
	}
}

// TestInspectOfWhatIsRight checks that the plan is the same as that of Build.
func TestInspectOfWhatIsRight(t *testing.T) {
	in := sequencer.Input{Root: plans.V3("shop"), Namespace: "default", Resources: plans.Resources(
		"shop ConfigMap/a layer=a", "shop ConfigMap/b layer=b depends-on.helm.sh/layers=a", "shop ConfigMap/c",
	)}
	plan, err := sequencer.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	got := sequencer.Inspect(in)
	if len(got.Errors) > 0 || len(got.Warnings) > 0 {
		t.Fatalf("got %+v", got)
	}
	plans.ExpectPlan(t, got.Plan, plans.Describe(plan))
}
