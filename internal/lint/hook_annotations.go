// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/hookneeds"
	"github.com/ordered-helm/helm/internal/latehooks"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/similar"
)

// renderedHook is a hook in the rendered templates, and the same hook in the form that package hookneeds needs.
type renderedHook struct {
	object *renderedObject
	needed hookneeds.Hook
}

// checkLateHooks adds a finding about each chart whose hooks run only after the charts that depend on it.
func (i *chartInspection) checkLateHooks(p *sequencer.Plan) {
	objects := map[latehooks.HookID]*renderedObject{}
	var hooks []latehooks.Hook
	for _, h := range i.hooks {
		o := h.object
		hook := latehooks.Hook{Chart: o.chart, File: o.file, Kind: o.kind, Name: o.name, Events: h.needed.Events}
		hooks, objects[hook.ID()] = append(hooks, hook), o
	}
	for _, g := range latehooks.Find(p, hooks) {
		i.add(rule.LateHook, i.position(objects[g.Hooks[0].ID()], release.HookAnnotation), g.String())
	}
}

// checkHook adds findings about the annotations of o if it is a hook. It also sets
// o.resource of a hook to nil, because hooks are not part of the deployment plan.
func (i *chartInspection) checkHook(o *renderedObject, annotations map[string]string) {
	isHook, events, err := render.CheckHook(o.kind, annotations)
	if !isHook {
		return
	}
	if len(events) > 0 {
		i.hooks = append(i.hooks, renderedHook{o, hookneeds.Hook{
			File: o.file, Object: o.resource, Events: events, DeletePolicies: deletePolicies(annotations[release.HookDeleteAnnotation]),
		}})
	}
	o.resource = nil
	if err != nil {
		key := release.HookAnnotation
		if value, ok := errors.AsType[*annotation.ValueError](err); ok {
			key = value.Key
		}
		i.add(rule.InvalidHook, i.position(o, key), fmt.Sprintf("%s: %v", o, err))
	}
	i.checkHookValues(o, annotations)
	if _, err := strconv.Atoi(annotations[release.HookWeightAnnotation]); err != nil && annotations[release.HookWeightAnnotation] != "" {
		i.addAs(rule.InvalidHook, rule.Warning, i.position(o, release.HookWeightAnnotation), fmt.Sprintf(
			"%s: %s: %q is not an integer: it is treated as 0", o, release.HookWeightAnnotation, annotations[release.HookWeightAnnotation]))
	}
	var sequencingKeys []string
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if annotation.IsSequencingKey(key) {
			sequencingKeys = append(sequencingKeys, key)
		} else if reason, kind := annotation.KeyProblem(key); kind == annotation.Misplaced {
			i.addAs(rule.MisplacedKey, rule.Warning, i.position(o, key), fmt.Sprintf("%s: %s: %s", o, key, reason))
		}
	}
	if len(sequencingKeys) > 0 {
		i.add(rule.HookSequencing, i.position(o, sequencingKeys[0]), fmt.Sprintf("%s is a hook: %s is ignored", o, strings.Join(sequencingKeys, ", ")))
	}
}

// deletePolicies returns the policies in the value of the annotation helm.sh/hook-delete-policy.
func deletePolicies(value string) []release.HookDeletePolicy {
	var policies []release.HookDeletePolicy
	for word := range strings.SplitSeq(value, ",") {
		policies = append(policies, release.HookDeletePolicy(strings.ToLower(strings.TrimSpace(word))))
	}
	return policies
}

// hookAnnotation describes an annotation of hooks whose value is a comma-separated list of
// words, such as helm.sh/hook.
type hookAnnotation struct {
	key string
	// known contains the words that Helm accepts.
	known []string
	// noun says in messages what a word is, as in "event".
	noun string
	// ifUnknown says in messages what Helm does if a word is unknown.
	ifUnknown string
}

func hookAnnotations() []hookAnnotation {
	return []hookAnnotation{
		{release.HookAnnotation, render.HookEvents(), "event", "the object is omitted from the release"},
		{release.HookDeleteAnnotation, []string{
			string(release.HookBeforeHookCreation), string(release.HookSucceeded), string(release.HookFailed),
		}, "policy", "ignored"},
		{release.HookOutputLogAnnotation, []string{
			string(release.HookOutputOnSucceeded), string(release.HookOutputOnFailed),
		}, "policy", "ignored"},
	}
}

// checkHookValues warns about unknown words in the annotations that hookAnnotations
// describes. Helm reports nothing for them.
func (i *chartInspection) checkHookValues(o *renderedObject, annotations map[string]string) {
	for _, a := range hookAnnotations() {
		value, given := annotations[a.key]
		if !given {
			continue
		}
		for word := range strings.SplitSeq(value, ",") {
			word = strings.ToLower(strings.TrimSpace(word))
			if slices.Contains(a.known, word) {
				continue
			}
			hint := "must be one of: " + strings.Join(a.known, ", ")
			if meant := similar.Nearest(word, a.known); meant != "" {
				hint = fmt.Sprintf("did you mean %q?", meant)
			}
			i.addAs(rule.InvalidHook, rule.Warning, i.position(o, a.key), fmt.Sprintf("%s: %s: unknown %s %q (%s): %s", o, a.key, a.noun, word, a.ifUnknown, hint))
		}
	}
}
