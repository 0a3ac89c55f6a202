// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookrunner"
)

// hookGroup contains the hooks of one event, or of several events whose hooks are the same
// and run in the same order.
type hookGroup struct {
	events []string
	// before is true if the hooks run before the nodes, and false if they run after them.
	// deploying is true if they run in an install, upgrade or rollback, and false if they
	// run in an uninstall or test.
	before, deploying bool
	buckets           []hookBucket
}

// hookBucket contains the hooks that have the same weight. Its stages run one after the
// other.
type hookBucket struct {
	title  string
	stages []hookStage
}

// hookStage contains chains that run in parallel. A chain lists the names of hooks that run
// one after the other.
type hookStage struct {
	title  string
	chains [][]string
}

// lines returns a line for each chain or, if there is only one chain, for each of its
// hooks.
func (s hookStage) lines() []string {
	if len(s.chains) == 1 {
		return s.chains[0]
	}
	lines := make([]string, len(s.chains))
	for i, c := range s.chains {
		lines[i] = strings.Join(c, ", then ")
	}
	return lines
}

func hookGroups(plans []hookrunner.Plan) []hookGroup {
	var groups []hookGroup
	known := map[string]int{}
	for _, p := range plans {
		before, deploying := sideOf(p.Event)
		key := fmt.Sprint(before, deploying, hooksOf(p))
		if at, again := known[key]; again {
			groups[at].events = append(groups[at].events, p.Event.String())
			continue
		}
		known[key] = len(groups)
		g := hookGroup{events: []string{p.Event.String()}, before: before, deploying: deploying}
		for _, b := range p.Buckets {
			g.buckets = append(g.buckets, bucketOf(p, b))
		}
		groups = append(groups, g)
	}
	return groups
}

func sideOf(event release.HookEvent) (before, deploying bool) {
	switch event {
	case hookrunner.EventCRDInstall, release.HookPreInstall, release.HookPreUpgrade, release.HookPreRollback:
		return true, true
	case release.HookPostInstall, release.HookPostUpgrade, release.HookPostRollback:
		return false, true
	case release.HookPreDelete:
		return true, false
	}
	return false, false
}

func (g hookGroup) title() string { return hooksTitle(g.events) }

// hooksTitle returns a title for the hooks of some events, as in "pre-install, pre-upgrade
// hooks".
func hooksTitle(events []string) string { return strings.Join(events, ", ") + " hooks" }

func bucketOf(p hookrunner.Plan, b hookrunner.Bucket) hookBucket {
	bucket := hookBucket{title: fmt.Sprintf("weight %d", b.Weight)}
	for i, s := range b.Stages {
		stage := hookStage{title: stageTitle(s, i > 0)}
		for _, c := range s.Chains {
			var chain []string
			for _, h := range c {
				name := hookrunner.Title(h)
				if chart := p.Chart(h); chart != "" {
					name += " (" + chart + ")"
				}
				chain = append(chain, name)
			}
			stage.chains = append(stage.chains, chain)
		}
		bucket.stages = append(bucket.stages, stage)
	}
	return bucket
}

// stageTitle says how the hooks of a stage run. later is true if another stage of the
// bucket runs before this one. The title is empty for a single hook that no other stage
// precedes.
func stageTitle(s hookrunner.Stage, later bool) string {
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
