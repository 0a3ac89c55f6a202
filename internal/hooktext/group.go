// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooktext

import (
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
)

// Group describes the hooks of one event, or of several events that have the same hooks
// in the same order.
type Group struct {
	// Events are the names of the events. Scope is the path of the chart before or after whose resources the
	// hooks run; empty if they run before or after all resources of the release.
	Events []string
	Scope  string
	// Before is true if the hooks run before the resources of the release, or of the chart, are deployed or
	// deleted, and false if they run afterwards. Deploying is true for hooks of an install,
	// upgrade or rollback, and false for hooks of an uninstall or test.
	Before, Deploying bool
	Buckets           []Bucket
}

// Bucket describes the hooks that have the same weight. Its stages run sequentially.
type Bucket struct {
	Title  string
	Stages []Stage
}

// Stage describes chains of hooks that run in parallel. A chain contains the names of
// hooks that run sequentially.
type Stage struct {
	Title  string
	Chains [][]string
}

// Lines returns the lines of text about the hooks in the bucket.
func (b Bucket) Lines() []string {
	lines := []string{b.Title}
	for _, s := range b.Stages {
		if s.Title != "" {
			lines = append(lines, s.Title)
		}
		lines = append(lines, s.lines()...)
	}
	return lines
}

// lines returns a line for each chain or, if there is only one chain, for each of its
// hooks.
func (s Stage) lines() []string {
	if len(s.Chains) == 1 {
		return s.Chains[0]
	}
	lines := make([]string, len(s.Chains))
	for i, c := range s.Chains {
		lines[i] = strings.Join(c, ", then ")
	}
	return lines
}

// Groups returns a group for each set of plans with the same scope and the same hooks in the same order, in the order of
// the first plan of each.
func Groups(plans []hookorder.Plan) []Group { return groups(plans, Group.key) }

// key returns a text that is the same for groups of events that can share a title and whose hooks are the same.
func (g Group) key() string { return fmt.Sprint(g.Before, g.Deploying, g.Scope, "\n", g.text()) }

// groups returns a group for all plans whose groups have the same key.
func groups(plans []hookorder.Plan, key func(Group) string) []Group {
	var all []Group
	known := map[string]int{}
	for _, p := range plans {
		g := Group{Events: []string{p.Event.String()}, Scope: p.Scope}
		g.Before, g.Deploying = sideOf(p.Event)
		for _, b := range p.Buckets {
			g.Buckets = append(g.Buckets, bucketOf(p, b))
		}
		at, again := known[key(g)]
		if again {
			all[at].Events = append(all[at].Events, p.Event.String())
			continue
		}
		known[key(g)] = len(all)
		all = append(all, g)
	}
	return all
}

// Title returns the title of a group, for example "pre-install, pre-upgrade hooks" or
// "post-install hooks of shop/db, after its resources".
func (g Group) Title() string {
	title := g.ShortTitle()
	switch {
	case g.Scope == "":
		return title
	case g.Before:
		return title + " of " + g.Scope + ", before its resources"
	}
	return title + " of " + g.Scope + ", after its resources"
}

// ShortTitle returns the title of a group without its scope.
func (g Group) ShortTitle() string { return strings.Join(g.Events, ", ") + " hooks" }

func sideOf(event release.HookEvent) (before, deploying bool) {
	switch event {
	case hookorder.EventCRDInstall, release.HookPreInstall, release.HookPreUpgrade, release.HookPreRollback:
		return true, true
	case release.HookPostInstall, release.HookPostUpgrade, release.HookPostRollback:
		return false, true
	case release.HookPreDelete:
		return true, false
	}
	return false, false
}

func bucketOf(p hookorder.Plan, b hookorder.Bucket) Bucket {
	bucket := Bucket{Title: fmt.Sprintf("weight %d", b.Weight)}
	for i, s := range b.Stages {
		stage := Stage{Title: stageTitle(s, i > 0)}
		for _, c := range s.Chains {
			var chain []string
			for _, h := range c {
				name := hookorder.Title(h)
				if chart := p.Chart(h); chart != "" {
					name += " (" + chart + ")"
				}
				chain = append(chain, name)
			}
			stage.Chains = append(stage.Chains, chain)
		}
		bucket.Stages = append(bucket.Stages, stage)
	}
	return bucket
}

// stageTitle says how the hooks of a stage run, for example "in parallel". later is true if
// another stage of the bucket runs first. The title of a single hook is empty unless later is
// true.
func stageTitle(s hookorder.Stage, later bool) string {
	how := "in parallel"
	if len(s.Chains) == 1 {
		how = "one after the other"
		if len(s.Chains[0]) == 1 {
			how = ""
		}
	}
	if later {
		how = strings.TrimSuffix("then "+how, " ")
	}
	return how
}
