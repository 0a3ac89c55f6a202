// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookneeds_test

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/hookneeds"
	"github.com/ordered-helm/helm/internal/sequencer"
)

const pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {volumes: [{secret: {secretName: s}}], containers: [{envFrom: [{secretRef: {name: s}}]}]}}"

func resource(t *testing.T, text string) sequencer.Resource {
	t.Helper()
	r := sequencer.Resource{Chart: "shop", File: "shop/templates/a.yaml"}
	if err := yaml.Unmarshal([]byte(text), &r.Object); err != nil {
		t.Fatal(err)
	}
	return r
}

// hook returns a hook with the given events, separated by commas. If policies follow the
// document after a "|", they are its delete policies.
func hook(events, text string) *release.Hook {
	text, policies, _ := strings.Cut(text, "|")
	h := &release.Hook{Path: "shop/templates/hook.yaml", Manifest: text}
	for e := range strings.SplitSeq(events, ",") {
		h.Events = append(h.Events, release.HookEvent(e))
	}
	for p := range strings.SplitSeq(policies, ",") {
		h.DeletePolicies = append(h.DeletePolicies, release.HookDeletePolicy(p))
	}
	return h
}

func TestFind(t *testing.T) {
	const secret = "{apiVersion: v1, kind: Secret, metadata: {name: s}}"
	install, upgrade := hookneeds.Operation{Namespace: "ns"}, hookneeds.Operation{Namespace: "ns", IsUpgrade: true}
	tests := []struct {
		name     string
		op       hookneeds.Operation
		resource string
		hooks    []*release.Hook
		want     string // part of the text about the only unmet need; empty if there is none
	}{
		{"no hook", install, pod, nil, ""},
		{"pre-install", install, pod, []*release.Hook{hook("pre-install", secret)}, ""},
		{"pre-install that fails is deleted", install, pod, []*release.Hook{hook("pre-install", secret+"|before-hook-creation,hook-failed")}, ""},
		{"pre-install that is deleted", install, pod, []*release.Hook{hook("pre-install", secret+"|before-hook-creation,hook-succeeded")},
			"which the pre-install hook creates, but deletes before the resources are deployed (shop/templates/hook.yaml): remove hook-succeeded"},
		{"post-install", install, pod, []*release.Hook{hook("post-install", secret)},
			"Pod/p in unlayered resources of chart shop (shop/templates/a.yaml) needs Secret/s, which only the post-install hook creates, which runs when all resources are ready (shop/templates/hook.yaml): make it a pre-install hook"},
		{"post-install and pre-install", install, pod, []*release.Hook{hook("post-install,pre-install", secret)}, ""},
		{"two hooks", install, pod, []*release.Hook{hook("post-install", secret), hook("pre-install", secret)}, ""},
		{"pre-upgrade in an install", install, pod, []*release.Hook{hook("pre-upgrade,test", secret)}, "which only the pre-upgrade, test hook creates, which does not run in an install"},
		{"pre-upgrade", upgrade, pod, []*release.Hook{hook("pre-upgrade", secret)}, ""},
		{"pre-install in an upgrade", upgrade, pod, []*release.Hook{hook("pre-install", secret)}, "which only the pre-install hook creates, which does not run in an upgrade"},
		{"post-upgrade", upgrade, pod, []*release.Hook{hook("post-upgrade", secret)}, "make it a pre-upgrade hook"},
		{"hooks are disabled", hookneeds.Operation{Namespace: "ns", NoHooks: true}, pod, []*release.Hook{hook("pre-install", secret)}, "omit --no-hooks"},
		{"crd-install", install, pod, []*release.Hook{hook("crd-install", secret)}, ""},
		{"another name", install, pod, []*release.Hook{hook("post-install", "{apiVersion: v1, kind: Secret, metadata: {name: other}}")}, ""},
		{"another namespace", install, pod, []*release.Hook{hook("post-install", "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: other}}")}, ""},
		{"namespace of the release", install, pod, []*release.Hook{hook("post-install", "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns}}")}, "needs Secret/s"},
		{"item of a list", install, pod, []*release.Hook{hook("post-install", "{apiVersion: v1, kind: List, items: ["+secret+"]}")}, "needs Secret/s"},
		{"resource of the release too", install, "{apiVersion: v1, kind: List, items: [" + pod + ", " + secret + "]}", []*release.Hook{hook("post-install", secret)}, ""},
		{"optional reference", install, strings.ReplaceAll(pod, "e: s", "e: s, optional: true"), []*release.Hook{hook("post-install", secret)}, ""},
		{"CronJob, which is ready without it", install,
			"{apiVersion: batch/v1, kind: CronJob, metadata: {name: c}, spec: {jobTemplate: {spec: {template: {spec: {volumes: [{secret: {secretName: s}}]}}}}}}",
			[]*release.Hook{hook("post-install", secret)}, ""},
		{"namespace", install, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: other}}",
			[]*release.Hook{hook("post-install", "{apiVersion: v1, kind: Namespace, metadata: {name: other}}")}, "needs Namespace/other"},
		{"hook that is no YAML", install, pod, []*release.Hook{hook("post-install", "{")}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := sequencer.Build(sequencer.Input{
				Root: &sequencer.Chart{Name: "shop"}, Resources: []sequencer.Resource{resource(t, tt.resource)}, Namespace: "ns",
			})
			if err != nil {
				t.Fatal(err)
			}
			unmet := tt.op.Find(plan, hookneeds.Hooks(tt.hooks))
			switch {
			case tt.want == "" && len(unmet) == 0:
			case len(unmet) != 1 || tt.want == "" || !strings.Contains(unmet[0].String(), tt.want):
				t.Errorf("got %v, want %q", unmet, tt.want)
			case unmet[0].ToNode != nil || unmet[0].To.APIVersion != "v1":
				t.Errorf("got %+v", unmet[0])
			}
		})
	}
}
