// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/ordered-helm/helm/test/harness"
)

// customResources creates the CRDs of two kinds in a new group, and returns the group. The
// status of a Widget is an ordinary field, that of a Gadget is a subresource.
func customResources(t *testing.T) (group string) {
	t.Helper()
	s := newCaseRun(t, readinessCase{manifest: definition("Widget")})
	for _, text := range []string{
		definition("Widget"), strings.Replace(definition("Gadget"), "storage: true,", "storage: true, subresources: {status: {}},", 1),
	} {
		s.Apply(t, text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	group = s.Namespace + ".example"
	for !served(s.Cluster.Client().Discovery(), group+"/v1", 2) {
		select {
		case <-ctx.Done():
			t.Fatal("the definitions are not served")
		case <-time.After(50 * time.Millisecond):
		}
	}
	return group
}

// served reports whether the server has the given number of kinds in a version of a group.
func served(client discovery.DiscoveryInterface, version string, kinds int) bool {
	list, err := client.ServerResourcesForGroupVersion(version)
	if err != nil {
		return false
	}
	found := map[string]bool{}
	for _, r := range list.APIResources {
		found[r.Kind] = true
	}
	return len(found) >= kinds
}

func widget(group, status string) string {
	text := "{apiVersion: " + group + "/v1, kind: Widget, metadata: {name: web}"
	if status != "" {
		text += ", status: {" + status + "}"
	}
	return text + "}"
}

func gadget(group string) string {
	return "{apiVersion: " + group + "/v1, kind: Gadget, metadata: {name: web}}"
}

// withoutReadiness is part of the warning about a custom resource without a Ready condition.
const withoutReadiness = "counts as ready immediately because it has no Ready condition"

func TestReadinessOfCustomResources(t *testing.T) {
	t.Parallel()
	group := customResources(t)
	of := func(status string) string { return widget(group, status) }
	const notReady = `conditions: [{type: Ready, status: "False", reason: Provisioning, message: "3 of 5 shards are up"}]`
	isNotReady := harness.HasCondition("Ready", "False", "")
	isReady := harness.HasCondition("Ready", "True", "")
	becomesReady := changed(isNotReady, `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	runReadiness(t, "custom", []readinessCase{
		{name: "without status is ready at once with a warning", manifest: gadget(group), ready: always, says: []string{withoutReadiness}},
		{name: "without conditions is ready at once with a warning", manifest: of("phase: Pending"), ready: always, says: []string{withoutReadiness}},
		{name: "with unreadable conditions is ready at once with a warning", manifest: of("conditions: all is well"), ready: always, says: []string{withoutReadiness}},
		{name: "with a Ready condition", manifest: of(notReady), through: isNotReady, ready: isReady, play: becomesReady},
		{
			name: "whose observedGeneration lags is not ready", through: always,
			manifest: of(`observedGeneration: 0, conditions: [{type: Ready, status: "True"}]`),
			ready:    hasField("status.observedGeneration", "2"), play: changed(always, `{"status":{"observedGeneration":2}}`),
		},
		{
			name: "that is reconciling is not ready", manifest: of(`conditions: [{type: Reconciling, status: "True"}]`),
			ready: harness.HasCondition("Reconciling", "False", ""),
			play:  changed(always, `{"status":{"conditions":[{"type":"Reconciling","status":"False"}]}}`),
		},
		{name: "that is not ready", manifest: of(notReady), fails: true},
		{name: "whose observedGeneration keeps lagging", manifest: of(`observedGeneration: 0, conditions: [{type: Ready, status: "True"}]`), fails: true},
		{
			name:     "that is stalled",
			manifest: of(`conditions: [{type: Stalled, status: "True", reason: QuotaExceeded, message: "no shard is left"}]`), fails: true,
		},
	})
}

// TestReadinessOfResourcesChangedByOthers checks resources that another client deletes or
// replaces while Helm waits for them.
func TestReadinessOfResourcesChangedByOthers(t *testing.T) {
	t.Parallel()
	replaced := func(play string) func(context.Context, *caseRun) error {
		return func(ctx context.Context, s *caseRun) error {
			if _, err := harness.AwaitState(ctx, s.testedAPI(), "web", hasField("status.phase", "Running")); err != nil {
				return err
			}
			if err := s.testedAPI().Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
				return err
			}
			for {
				err := s.Create(ctx, barePod(play))
				if !apierrors.IsAlreadyExists(err) {
					return err
				}
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(20 * time.Millisecond):
				}
			}
		}
	}
	deleted := func(ctx context.Context, s *caseRun) error {
		if _, err := harness.AwaitState(ctx, s.testedAPI(), "web", hasField("status.phase", "Running")); err != nil {
			return err
		}
		return s.testedAPI().Delete(ctx, "web", metav1.DeleteOptions{})
	}
	runReadiness(t, "changed", []readinessCase{
		{name: "deleted by somebody else", manifest: barePod(never), play: deleted, fails: true},
		{
			name: "deleted with a finalizer that hangs", fails: true,
			manifest: strings.Replace(barePod(never), "{name: web,", "{name: web, finalizers: [example.com/hold],", 1),
			play:     deleted, before: func(tb testing.TB, s *caseRun) { tb.Helper(); s.removeFinalizersAfter(tb) },
		},
		{name: "replaced under the same name by one that is ready", manifest: barePod(never), play: replaced("")},
		{name: "replaced under the same name by one that is not ready", manifest: barePod(never), play: replaced(never), fails: true},
	})
}

// removeFinalizersAfter removes the finalizers of the resource under test at the end of the
// test.
func (s *caseRun) removeFinalizersAfter(tb testing.TB) {
	tb.Helper()
	tb.Cleanup(func() {
		ctx := context.WithoutCancel(tb.Context())
		if err := harness.MergePatch(ctx, s.testedAPI(), s.tested.GetName(), `{"metadata":{"finalizers":null}}`); err != nil {
			tb.Error(err)
		}
	})
}
