// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

// Environment variables for TestRandomHookSets: the number of random sets of hooks, and the
// seed of the first set.
const (
	hookSetsVariable     = "PARITY_HOOK_SETS"
	firstHookSetVariable = "PARITY_FIRST_HOOK_SET"
)

// TestRandomHookSets compares releases of charts that have random hooks and do not set
// runHooksInParallel, including the order in which the programs create and delete hooks.
func TestRandomHookSets(t *testing.T) {
	t.Parallel()
	sets, first := numberFrom(t, hookSetsVariable, 3), numberFrom(t, firstHookSetVariable, 1)
	var scenarios []scenario
	for seed := first; seed < first+sets; seed++ {
		rng := rand.New(rand.NewPCG(uint64(seed), 0))
		scenarios = append(scenarios, scenario{
			name: fmt.Sprintf("seed %d", seed), unchecked: true, rules: []rule{storedHooks},
			steps: []step{
				writeFile{"one.yaml", randomHooks(t, rng)}, writeFile{"two.yaml", randomHooks(t, rng)},
				helm("install web charts/hookset -f one.yaml"), hookRequests{},
				helm("upgrade web charts/hookset -f two.yaml"), hookRequests{},
				helm("test web"), hookRequests{},
				helm("rollback web 1"), hookRequests{},
				helm("uninstall web --keep-history"), hookRequests{},
			},
		})
	}
	runScenarios(t, scenarios)
}

func numberFrom(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	number, err := strconv.Atoi(cmp.Or(os.Getenv(variable), strconv.Itoa(otherwise)))
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return number
}

// hookValues describes a hook in the values of the chart hookset.
type hookValues struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Events string `json:"events"`
	Weight string `json:"weight,omitempty"`
	Policy string `json:"policy,omitempty"`
	Log    string `json:"log,omitempty"`
	Fail   bool   `json:"fail,omitempty"`
}

// randomHooks returns values of the chart hookset with random hooks for three charts. It uses
// few names, so that hooks of different kinds and charts have the same name.
func randomHooks(t *testing.T, rng *rand.Rand) string {
	t.Helper()
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	hooks := func() (list []hookValues) {
		for range rng.IntN(5) {
			h := hookValues{
				Name: "hook-" + pick("a", "b", "c", "d", "e", "f", "g", "h"),
				Kind: pick("Job", "Job", "Pod", "Pod", "ConfigMap", "Secret", "ServiceAccount", "Role"),
				Events: pick("pre-install", "post-install", "pre-install,post-install", "pre-upgrade,pre-install", "POST-UPGRADE , test",
					"pre-rollback,post-rollback", "pre-delete", "post-delete,pre-install", "test", "test-success,pre-install,pre-install"),
				Weight: pick("", "", "0", "-1", "1", "10", "9", "many"),
				Policy: pick("", "", "before-hook-creation", "hook-succeeded,before-hook-creation", "hook-succeeded", "hook-failed", "hook-failed,hook-succeeded"),
				Log:    pick("", "hook-succeeded", "hook-failed,hook-succeeded"),
				Fail:   rng.IntN(12) == 0,
			}
			h.Fail = h.Fail && h.Events != "pre-delete" // the recorded result then differs intentionally
			list = append(list, h)
		}
		return list
	}
	data, err := json.Marshal(map[string]any{
		"hooks": hooks(), "left": map[string]any{"hooks": hooks()}, "right": map[string]any{"hooks": hooks()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// hookRequests is a step that returns the requests that have created and deleted hooks, in
// their order, with the status codes of the responses.
type hookRequests struct{}

func (hookRequests) run(_ context.Context, w *sandbox) (string, error) {
	events := cluster.Shared(w.t).AuditIn(w.t, w.namespace) //nolint:contextcheck // it belongs to the test
	events = slices.DeleteFunc(events, func(e cluster.Event) bool {
		return !strings.HasPrefix(e.Name, "hook-") || !strings.HasPrefix(e.UserAgent, "Helm/") ||
			e.Verb != "create" && e.Verb != "delete"
	})
	slices.SortStableFunc(events, func(a, b cluster.Event) int { return a.Received.Compare(b.Received) })
	var out strings.Builder
	out.WriteString("requests:\n")
	for _, e := range events {
		fmt.Fprintf(&out, "%s %s/%s: %d\n", e.Verb, e.Resource, e.Name, e.Code)
	}
	return out.String(), nil
}
