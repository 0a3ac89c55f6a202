// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview

import (
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
)

// hookGroup describes the hooks of one event, or of several events that have the same hooks
// in the same order.
type hookGroup struct {
	events []string
	// before is true if the hooks run before the resources of the release are deployed or
	// deleted, and false if they run afterwards. deploying is true for hooks of an install,
	// upgrade or rollback, and false for hooks of an uninstall or test.
	before, deploying bool
	buckets           []hookBucket
}

// hookBucket describes the hooks that have the same weight. Its stages run sequentially.
type hookBucket struct {
	title  string
	stages []hookStage
}

// hookStage describes chains of hooks that run in parallel. A chain contains the names of
// hooks that run sequentially.
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

func hookGroups(plans []hookorder.Plan) []hookGroup {
	var groups []hookGroup
	known := map[string]int{}
	for _, p := range plans {
		before, deploying := sideOf(p.Event)
		key := fmt.Sprint(before, deploying, formatHooks(p))
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
	case hookorder.EventCRDInstall, release.HookPreInstall, release.HookPreUpgrade, release.HookPreRollback:
		return true, true
	case release.HookPostInstall, release.HookPostUpgrade, release.HookPostRollback:
		return false, true
	case release.HookPreDelete:
		return true, false
	}
	return false, false
}

func (g hookGroup) title() string { return hooksTitle(g.events) }

// hooksTitle returns the title of a group, for example "pre-install, pre-upgrade hooks".
func hooksTitle(events []string) string { return strings.Join(events, ", ") + " hooks" }

func bucketOf(p hookorder.Plan, b hookorder.Bucket) hookBucket {
	bucket := hookBucket{title: fmt.Sprintf("weight %d", b.Weight)}
	for i, s := range b.Stages {
		stage := hookStage{title: stageTitle(s, i > 0)}
		for _, c := range s.Chains {
			var chain []string
			for _, h := range c {
				name := hookorder.Title(h)
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
