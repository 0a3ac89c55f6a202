// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package argocd_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/argocd"
	"github.com/ordered-helm/helm/internal/hookorder"
)

// hook returns the hook that a text of the form "Kind/name weight event,event" describes.
func hook(text string, policies ...release.HookDeletePolicy) *release.Hook {
	f := strings.Fields(text)
	kind, name, _ := strings.Cut(f[0], "/")
	weight, _ := strconv.Atoi(f[1])
	h := &release.Hook{
		Kind: kind, Name: name, Path: "shop/templates/" + name + ".yaml", Weight: weight, DeletePolicies: policies,
		Manifest: fmt.Sprintf("---\n# a comment\nkind: %s\nmetadata:\n  name: %s\n  annotations:\n    helm.sh/hook: %q # the events\n", kind, name, f[2]),
	}
	for event := range strings.SplitSeq(f[2], ",") {
		h.Events = append(h.Events, release.HookEvent(event))
	}
	return h
}

func annotations(t *testing.T, h *release.Hook) map[string]string {
	t.Helper()
	var object struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(h.Manifest), &object); err != nil {
		t.Fatal(err)
	}
	return object.Metadata.Annotations
}

func TestSequenceHooks(t *testing.T) {
	own := hook("Job/own 0 pre-install")
	own.Manifest = strings.Replace(own.Manifest, "annotations:\n", "annotations:\n    argocd.argoproj.io/hook: Sync\n", 1)
	tests := []struct {
		name                    string
		hook                    *release.Hook
		phase, policy, wave     string
		warning, unchangedSince string
	}{
		{name: "before", hook: hook("Job/a 0 pre-install,pre-upgrade"), phase: "PreSync", wave: "0"},
		{name: "after", hook: hook("Job/a 5 post-install,post-upgrade"), phase: "PostSync", wave: "0"},
		{name: "both", hook: hook("Job/a 0 pre-install,post-install,pre-upgrade,post-upgrade"), phase: "PreSync,PostSync", wave: "0"},
		{name: "deletion", hook: hook("Job/a 0 pre-delete,post-delete"), phase: "PreDelete,PostDelete", wave: "0"},
		{name: "upgrade only", hook: hook("Job/a 0 pre-upgrade"), phase: "PreSync", wave: "0", warning: "it is for pre-upgrade, but Argo CD does not distinguish"},
		{name: "rollback", hook: hook("Job/a 0 pre-rollback"), phase: "Skip", warning: "Argo CD has no equivalent of pre-rollback"},
		{name: "test", hook: hook("Pod/a 0 test"), phase: "Skip", warning: "Argo CD has no equivalent of test"},
		{name: "rollback and more", hook: hook("Job/a 0 pre-install,pre-upgrade,pre-rollback"), phase: "PreSync", wave: "0"},
		{name: "definition", hook: hook("CustomResourceDefinition/a 0 crd-install"), wave: "-1"},
		{
			name: "policies", hook: hook("Job/a 0 pre-install,pre-upgrade", release.HookSucceeded, release.HookFailed, release.HookSucceeded, release.HookBeforeHookCreation),
			phase: "PreSync", wave: "0", policy: "HookSucceeded,HookFailed,BeforeHookCreation",
		},
		{name: "Argo CD's own", hook: own, phase: "Sync"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := tt.hook.Manifest
			hooks, warnings, err := argocd.SequenceHooks([]*release.Hook{tt.hook}, hookorder.ChartModes{})
			if err != nil {
				t.Fatal(err)
			}
			got := annotations(t, hooks[0])
			if got[argocd.Hook] != tt.phase || got[argocd.Wave] != tt.wave || got[argocd.HookDelete] != tt.policy {
				t.Errorf("got %v", got)
			}
			if text := strings.Join(warnings, "\n"); !strings.Contains(text, tt.warning) || tt.warning == "" && text != "" {
				t.Errorf("warnings: %s", text)
			}
			if tt.hook.Manifest != before {
				t.Error("the hook itself was changed")
			}
			kept := slices.DeleteFunc(strings.SplitAfter(hooks[0].Manifest, "\n"), func(line string) bool { return strings.Contains(line, "argocd.argoproj.io") && tt.hook != own })
			if text := strings.Join(kept, ""); text != before {
				t.Errorf("the rest was changed: %s", hooks[0].Manifest)
			}
		})
	}
}

// TestHookWaves checks that a hook has a higher wave than the hooks that Helm runs before
// it in any phase. The hooks are random.
func TestHookWaves(t *testing.T) {
	events := []string{"pre-install,pre-upgrade", "post-install,post-upgrade", "pre-install,pre-upgrade,post-install,post-upgrade", "pre-delete"}
	kinds := []string{"Job", "Pod", "ConfigMap", "ServiceAccount"}
	pairs := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		modes := hookorder.ChartModes{Namespace: "default", ChartOf: func(h *release.Hook) string { return h.Name[:1] }, ByChart: map[string]hookorder.Mode{
			"a": hookorder.Parallel, "b": hookorder.OtherChartsOnly,
		}}
		var hooks []*release.Hook
		for range r.IntN(12) {
			hooks = append(hooks, hook(fmt.Sprintf("%s/%c%d %d %s", kinds[r.IntN(4)], 'a'+rune(r.IntN(3)), r.IntN(20), r.IntN(3), events[r.IntN(4)])))
		}
		sequenced, _, err := argocd.SequenceHooks(hooks, modes)
		if err != nil {
			t.Fatal(err)
		}
		wave := map[*release.Hook]int{}
		for i, h := range sequenced {
			if wave[hooks[i]], err = strconv.Atoi(annotations(t, h)[argocd.Wave]); err != nil {
				t.Fatal(err)
			}
		}
		for _, event := range []release.HookEvent{release.HookPreInstall, release.HookPostUpgrade, release.HookPreDelete} {
			var before []*release.Hook
			for _, b := range hookorder.Buckets(hookorder.ForEvent(hooks, event), modes) {
				for _, s := range b.Stages {
					var stage []*release.Hook
					for _, c := range s.Chains {
						for i, h := range c {
							for _, first := range append(slices.Clone(before), c[:i]...) {
								if pairs++; wave[first] >= wave[h] {
									t.Fatalf("seed %d, %s: %s is in wave %d, and %s after it in %d", seed, event, first.Name, wave[first], h.Name, wave[h])
								}
							}
						}
						stage = append(stage, c...)
					}
					before = append(before, stage...)
				}
			}
		}
	}
	if pairs < 1000 {
		t.Errorf("only %d pairs are in order", pairs)
	}
}
