// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"testing"
)

// TestReadinessExpressions checks the expressions of readiness-success and readiness-failure
// with custom resources whose status changes several times.
func TestReadinessExpressions(t *testing.T) {
	t.Parallel()
	group := customResources(t)
	success := func(list string) []string { return []string{"helm.sh/readiness-success: " + list} }
	both := func(success, failure string) []string {
		return []string{"helm.sh/readiness-success: " + success, "helm.sh/readiness-failure: " + failure, "helm.sh/readiness-timeout: 20s"}
	}
	phases := steps(`{"phase":"Pending"}`, `{"phase":"Running"}`)
	cases := []readinessCase{
		{name: "bare path", annotations: success(`["phase == Running"]`), play: phases, ready: step(2)},
		{name: "path with a dot", annotations: success(`[".phase == Running"]`), play: phases, ready: step(2)},
		{name: "path in braces", annotations: success(`["{.phase} == Running"]`), play: phases, ready: step(2)},
		{name: "YAML list", annotations: []string{"helm.sh/readiness-success:\n- phase==Running\n- phase==Done"}, play: phases, ready: step(2)},
		{name: "JSON list in a string", annotations: success(`'["phase==Running", "phase==Done"]'`), play: phases, ready: step(2)},
		{name: "plain string", annotations: success(`phase == Running`), play: phases, ready: step(2)},
		{name: "any of several is enough", annotations: success(`["succeeded >= 3", "phase == Running"]`), play: phases, ready: step(2)},
		{name: "quoted literal", annotations: success(`['{.phase} == "Running"']`), play: phases, ready: step(2)},
		{name: "literal in single quotes", annotations: success(`["{.phase} == 'Running'"]`), play: phases, ready: step(2)},
		{
			name: "filter expression", annotations: success(`['{.conditions[?(@.type=="Ready")].status} == "True"']`), ready: step(3),
			play: steps(`{"conditions":[]}`, `{"conditions":[{"type":"Ready","status":"False"},{"type":"Synced","status":"True"}]}`,
				`{"conditions":[{"type":"Ready","status":"True"}]}`),
		},
		{
			name: "True equals the string True", annotations: success(`['{.conditions[?(@.type=="Ready")].status} == True']`), ready: step(2),
			play: steps(`{"conditions":[{"type":"Ready","status":"False"}]}`, `{"conditions":[{"type":"Ready","status":"True"}]}`),
		},
		{name: "boolean", annotations: success(`["up == true"]`), ready: step(2), play: steps(`{"up":false}`, `{"up":true}`)},
		{
			name: "number with every operator", ready: step(3),
			annotations: success(`["n == 11", "n != 5", "n < 2", "n <= 1", "n > 10", "n >= 11"]`), play: steps(`{"m":5}`, `{"n":5}`, `{"n":11}`),
		},
		{name: "numbers are compared as numbers", annotations: success(`["n > 9"]`), ready: step(2), play: steps(`{"n":8}`, `{"n":10}`)},
		{name: "number against a string", annotations: success(`['{.n} == "3"']`), ready: step(2), play: steps(`{"n":2}`, `{"n":3}`)},
		{name: "string against a number", annotations: success(`["version == 3"]`), ready: step(2), play: steps(`{"version":"3.0"}`, `{"version":"3"}`)},
		{name: "fraction", annotations: success(`["load <= 0.5"]`), ready: step(2), play: steps(`{"load":0.75}`, `{"load":0.5}`)},
		{name: "an order between what are not numbers is false", annotations: success(`["version > 1", "n == 1"]`), ready: step(2), play: steps(`{"version":"2"}`, `{"n":1}`)},
		{name: "a missing path is false with != too", annotations: success(`["phase != Pending"]`), ready: step(3), play: steps(`{"other":1}`, `{"phase":"Pending"}`, `{"phase":"Running"}`)},
		{
			name: "nested lists", annotations: success(`["{.shards[*].replicas[*].role} == primary"]`), ready: step(3),
			play: steps(`{"shards":[]}`, `{"shards":[{"replicas":[{"role":"standby"}]},{"replicas":[]}]}`,
				`{"shards":[{"replicas":[{"role":"standby"}]},{"replicas":[{"role":"standby"},{"role":"primary"}]}]}`),
		},
		{name: "several results, any of them", annotations: success(`["{.nodes[*].up} == true"]`), ready: step(2), play: steps(`{"nodes":[{"up":false},{}]}`, `{"nodes":[{"up":false},{"up":true}]}`)},
		{
			name: "failure and success, success holds", ready: step(2),
			annotations: both(`["{.phase} == Running"]`, `["{.phase} == Error"]`), play: phases,
		},
		{
			name: "failure and success, failure holds", fails: true,
			annotations: both(`["{.phase} == Running"]`, `["{.restarts} >= 3", "{.phase} == Error"]`), play: steps(`{"phase":"Pending"}`, `{"phase":"Error"}`),
		},
		{
			name: "failure is asked before success", fails: true,
			annotations: both(`["{.phase} == Running"]`, `["{.broken} == true"]`), play: steps(`{"phase":"Running","broken":true}`),
		},
		{
			name: "failure of what nothing depends on", leaf: true, fails: true,
			annotations: both(`["{.phase} == Running"]`, `["{.phase} == Error"]`), play: steps(`{"phase":"Pending"}`, `{"phase":"Error"}`),
		},
		{name: "success that never holds", annotations: success(`["{.phase} == Running"]`), play: steps(`{"phase":"Pending"}`), fails: true},
		{name: "success whose path never comes", annotations: success(`["{.phase} != Pending"]`), fails: true},
		{name: "success brings no warning", annotations: success(`["{.phase} == Running"]`), play: phases, ready: step(2), silent: []string{withoutReadiness}},
		{name: "path that begins at status again brings a warning", annotations: success(`["{.status.phase} == Running", "phase == Running"]`), play: phases, ready: step(2), says: []string{"already begins at .status"}},
	}
	for i := range cases {
		cases[i].manifest = gadget(group)
	}
	runReadiness(t, "expression", cases)
}

// TestReadinessExpressionsOfKnownKinds checks expressions on kinds with built-in rules: if a
// resource has only one of the two annotations, the built-in rules replace the other.
func TestReadinessExpressionsOfKnownKinds(t *testing.T) {
	t.Parallel()
	job := func(play string, spec ...string) string {
		return workload{kind: "Job", play: play, spec: spec}.manifest()
	}
	patient := "helm.sh/readiness-timeout: 50s"
	runReadiness(t, "expression", []readinessCase{
		{
			name: "success alone of a Job that runs", manifest: job("devcluster/after: 30s"),
			annotations: []string{`helm.sh/readiness-success: ["{.ready} >= 1"]`}, ready: hasField("status.ready", "1"),
		},
		{
			name: "success alone leaves the failure to the kind", manifest: job(exitsOnce, "backoffLimit: 0"), fails: true,
			annotations: []string{`helm.sh/readiness-success: ["{.succeeded} >= 1"]`, patient},
		},
		{
			name: "success and failure alone decide where both are given", manifest: job(exitsOnce, "backoffLimit: 0"),
			annotations: []string{`helm.sh/readiness-success: ["{.failed} >= 1"]`, `helm.sh/readiness-failure: ["{.failed} >= 2"]`},
			ready:       hasField("status.failed", "1"),
		},
		{
			name: "failure alone leaves the success to the kind", manifest: job(slowly),
			annotations: []string{`helm.sh/readiness-failure: ["{.failed} >= 1"]`},
		},
		{
			name: "failure alone ends the waiting at once", manifest: job(exitsOnce, "backoffLimit: 5"), fails: true,
			annotations: []string{`helm.sh/readiness-failure: ["{.failed} >= 1"]`, patient},
		},
		{
			name: "success counts more than what is known of the kind", manifest: workload{kind: "Deployment", play: never, spec: []string{"replicas: 2"}}.manifest(),
			annotations: []string{`helm.sh/readiness-success: ["{.replicas} == 2"]`}, ready: hasField("status.replicas", "2"),
		},
		{
			name: "expressions of what nothing depends on", manifest: job("devcluster/after: 30s"), leaf: true, args: []string{"--wait-for-jobs"},
			annotations: []string{`helm.sh/readiness-success: ["{.ready} >= 1"]`}, ready: hasField("status.ready", "1"),
		},
	})
}
