// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookneeds finds resources that need an object that only a hook creates, but too late,
// or only for a short time.
package hookneeds

import (
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/kind"
	"github.com/ordered-helm/helm/internal/neededobjects"
	"github.com/ordered-helm/helm/internal/objectid"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Hook is a hook of a release.
type Hook struct {
	// File is the path of the template, and Object the parsed document.
	File           string
	Object         map[string]any
	Events         []release.HookEvent
	DeletePolicies []release.HookDeletePolicy
}

// Hooks returns the hooks of a release that can create objects that others need. It omits hooks
// that cannot be parsed.
func Hooks(all []*release.Hook) []Hook {
	var hooks []Hook
	for _, h := range all {
		var object map[string]any
		if h.Kind == "Job" || h.Kind == "Pod" || yaml.Unmarshal([]byte(h.Manifest), &object) != nil {
			continue
		}
		hooks = append(hooks, Hook{h.Path, object, h.Events, h.DeletePolicies})
	}
	return hooks
}

// Operation describes the operation that deploys the resources.
type Operation struct {
	// IsUpgrade says whether it is an upgrade, not an install.
	IsUpgrade bool
	// NoHooks says whether it runs no hooks.
	NoHooks bool
	// Namespace is the namespace of the release.
	Namespace string
	// ChartOf returns the path of the chart that contains a template.
	ChartOf func(file string) string
}

// Find returns the references from resources of the plan to objects that only hooks create, if
// no hook of the operation creates the object before the resource is deployed and keeps it. A
// resource cannot become ready without the object, unless it already exists in the cluster.
func (op Operation) Find(plan *sequencer.Plan, hooks []Hook) []sequencer.UnmetNeed {
	late := op.lateObjects(plan, hooks)
	if len(late) == 0 {
		return nil
	}
	for _, n := range plan.Nodes {
		for _, r := range n.Resources {
			delete(late, r.ID)
		}
	}
	var unmet []sequencer.UnmetNeed
	for i, n := range plan.Nodes {
		for _, r := range n.Resources {
			seen := map[objectid.ID]bool{}
			for _, id := range op.references(r) {
				if l := late[id]; l != nil && !seen[id] && !l.existsBefore(plan, i) {
					seen[id] = true
					unmet = append(unmet, sequencer.UnmetNeed{From: r, FromNode: n, To: &l.object, HookProblem: l.problem})
				}
			}
		}
	}
	return unmet
}

// references returns the objects without which r cannot become ready. Some kinds become ready
// before they use the objects that they refer to.
func (op Operation) references(r *sequencer.PlannedResource) []objectid.ID {
	var ids []objectid.ID
	if r.ID.Namespace != "" && r.ID.Namespace != op.Namespace { // the namespace of the release exists
		ids = append(ids, objectid.ID{Kind: "Namespace", Name: r.ID.Namespace})
	}
	switch r.ID.Kind {
	case "CronJob", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		return ids
	}
	for _, ref := range neededobjects.Of(r.ID.Kind, r.ID.Namespace, r.Object()) {
		ids = append(ids, objectid.ID(ref))
	}
	return ids
}

// lateObject is an object that hooks create too late, and why.
type lateObject struct {
	object  sequencer.PlannedResource
	problem string
	// steps are the steps of the plan in which hooks create the object and keep it. It exists before
	// the nodes that come after one of them.
	steps []*sequencer.Step
}

// existsBefore reports whether the object exists before the node with index i in plan.Nodes is deployed.
func (l *lateObject) existsBefore(plan *sequencer.Plan, i int) bool {
	return slices.ContainsFunc(l.steps, func(s *sequencer.Step) bool { return plan.ComesAfterStep(i, s) })
}

// stepsOf returns the steps of the plan in which a hook runs that keeps its objects.
func (op Operation) stepsOf(plan *sequencer.Plan, h Hook) []*sequencer.Step {
	if len(plan.Steps) == 0 || slices.Contains(h.DeletePolicies, release.HookSucceeded) {
		return nil
	}
	scope := plan.HookScope(op.ChartOf(h.File))
	var steps []*sequencer.Step
	for _, s := range plan.Steps {
		if s.Chart == scope && slices.Contains(h.Events, s.HookEvent) {
			steps = append(steps, s)
		}
	}
	return steps
}

// lateObjects returns the objects that hooks create, but that do not exist when the operation
// deploys the resources.
func (op Operation) lateObjects(plan *sequencer.Plan, hooks []Hook) map[objectid.ID]*lateObject {
	late, inTime := map[objectid.ID]*lateObject{}, map[objectid.ID]bool{}
	for _, h := range hooks {
		steps := op.stepsOf(plan, h)
		problem := op.problemOf(h)
		if len(steps) > 0 {
			problem = fmt.Sprintf("which the %s create (%s), but only later: move it to an earlier hook, or make it an ordinary resource", steps[0].Title(), h.File)
		}
		for _, object := range flatten(h.Object) {
			id := objectid.Scopes{}.Identify(object, op.Namespace)
			if problem == "" {
				inTime[id] = true
				continue
			}
			if late[id] == nil {
				planned := sequencer.PlannedResource{ID: id, File: h.File, APIVersion: field.String(object, "apiVersion")}
				late[id] = &lateObject{object: planned, problem: problem}
			}
			late[id].steps = append(late[id].steps, steps...)
		}
	}
	for id := range inTime {
		delete(late, id)
	}
	return late
}

func flatten(object map[string]any) []map[string]any {
	items, isList := kind.ListItems(object)
	if !isList {
		return []map[string]any{object}
	}
	var all []map[string]any
	for _, item := range items {
		all = append(all, flatten(item)...)
	}
	return all
}

// problemOf explains why the objects of a hook do not exist when the resources are deployed,
// and how to change that. It returns "" if they do.
func (op Operation) problemOf(h Hook) string {
	name, before, after := "install", release.HookPreInstall, release.HookPostInstall
	if op.IsUpgrade {
		name, before, after = "upgrade", release.HookPreUpgrade, release.HookPostUpgrade
	}
	var why, remedy string
	switch isFor := func(e release.HookEvent) bool { return slices.Contains(h.Events, e) }; {
	case op.NoHooks:
		why, remedy = "only a hook creates, and hooks are disabled", "omit --no-hooks"
	case isFor(hookorder.EventCRDInstall):
		return ""
	case isFor(before) && !slices.Contains(h.DeletePolicies, release.HookSucceeded):
		return ""
	case isFor(before):
		why = fmt.Sprintf("the %s hook creates, but deletes before the resources are deployed", before)
		remedy = "remove hook-succeeded from its helm.sh/hook-delete-policy, or make it an ordinary resource"
	case isFor(after):
		why = fmt.Sprintf("only the %s hook creates, which runs when all resources are ready", after)
		remedy = fmt.Sprintf("make it a %s hook, or an ordinary resource", before)
	default:
		why = fmt.Sprintf("only the %s hook creates, which does not run in an %s", events(h), name)
		remedy = fmt.Sprintf("make it a %s hook, or an ordinary resource", before)
	}
	return fmt.Sprintf("which %s (%s): %s", why, h.File, remedy)
}

func events(h Hook) string {
	names := make([]string, len(h.Events))
	for i, e := range h.Events {
		names[i] = e.String()
	}
	return strings.Join(names, ", ")
}
