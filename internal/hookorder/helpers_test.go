// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
)

// hook returns a Job of the chart "shop".
func hook(name string, weight int, events ...release.HookEvent) *release.Hook {
	return &release.Hook{Name: name, Kind: "Job", Path: "shop/templates/" + name + ".yaml", Weight: weight, Events: events}
}

// read returns the hook that a line describes, as in "shop/a Job/migrate 5 ns=other": the
// path of its chart, its kind and name, its weight and its namespace.
func read(t testing.TB, line string) *release.Hook {
	t.Helper()
	fields := strings.Fields(line)
	h := &release.Hook{Path: fields[0] + "/templates/x.yaml", Events: []release.HookEvent{release.HookPreInstall}}
	h.Kind, h.Name, _ = strings.Cut(fields[1], "/")
	h.Manifest = "metadata: {name: " + h.Name + "}"
	for _, field := range fields[2:] {
		if namespace, found := strings.CutPrefix(field, "ns="); found {
			h.Manifest = "metadata: {name: " + h.Name + ", namespace: " + namespace + "}"
			continue
		}
		weight, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		h.Weight = weight
	}
	return h
}

func readAll(t testing.TB, lines ...string) []*release.Hook {
	t.Helper()
	hooks := make([]*release.Hook, len(lines))
	for i, line := range lines {
		hooks[i] = read(t, line)
	}
	return hooks
}

func chartOf(h *release.Hook) string {
	chart, _, _ := strings.Cut(h.Path, "/templates/")
	return chart
}

// modes returns the modes that a text describes, as in "a=true b=otherChartsOnly", for a
// release in the namespace "shop".
func modes(text string) hookorder.ChartModes {
	m := hookorder.ChartModes{Namespace: "shop", ChartOf: chartOf, ByChart: map[string]hookorder.Mode{}}
	for _, field := range strings.Fields(text) {
		chart, mode, _ := strings.Cut(field, "=")
		m.ByChart[chart] = hookorder.Mode(mode)
	}
	return m
}

// printed returns buckets as text, one per line.
func printed(buckets []hookorder.Bucket) string {
	lines := make([]string, len(buckets))
	for i, b := range buckets {
		lines[i] = b.String()
	}
	return strings.Join(lines, "\n")
}

func names(hooks []*release.Hook) string {
	all := make([]string, len(hooks))
	for i, h := range hooks {
		all[i] = h.Name
	}
	return strings.Join(all, " ")
}

func titles(hooks []*release.Hook) string {
	all := make([]string, len(hooks))
	for i, h := range hooks {
		all[i] = fmt.Sprintf("%d:%s", h.Weight, hookorder.Title(h))
	}
	return strings.Join(all, " ")
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
