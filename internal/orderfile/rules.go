// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// The fields of the mappings in an order file.
var (
	topFields          = []string{"apiVersion", "kind", "charts", "resources"}
	chartRuleFields    = []string{"path", KeyDependsOn, KeyOwnDependsOn, KeyExternal, KeyHookScope, KeyReadinessTimeout}
	resourceRuleFields = []string{"match", KeyLayer, KeyDependsOn, KeyExternal, "readiness"}
	matchFields        = []string{"chart", "kind", "name", "labels"}
	readinessFields    = []string{"success", "failure", "timeout"}
)

// readOrder reads the rules of the file.
func (r *reader) readOrder(root *yaml.Node) {
	top := r.readMapping(root, "", topFields)
	charts, resources := top.items("charts"), top.items("resources")
	if n := len(charts) + len(resources); n > MaxRules {
		r.addf(root, "", "has %d rules; the maximum is %d", n, MaxRules)
		return
	}
	for i, n := range charts {
		place := r.place("charts", i, n)
		r.file.Charts = append(r.file.Charts, r.readChartRule(place, yamledit.Resolve(n)))
	}
	for i, n := range resources {
		place := r.place("resources", i, n)
		r.file.Resources = append(r.file.Resources, r.readResourceRule(place, yamledit.Resolve(n)))
	}
}

// place returns the place of the rule n, which has the given index in the given list.
func (r *reader) place(list string, index int, n *yaml.Node) Rule {
	return Rule{File: r.file.Name, Path: fmt.Sprintf("%s[%d]", list, index), Line: max(n.Line, 1)}
}

func (r *reader) readChartRule(place Rule, n *yaml.Node) ChartRule {
	m := r.readMapping(n, place.Path, chartRuleFields)
	rule := ChartRule{
		Rule:             place,
		Path:             m.text("path"),
		DependsOn:        read(m, KeyDependsOn, annotation.ReadNames),
		OwnDependsOn:     read(m, KeyOwnDependsOn, annotation.ReadNames),
		External:         read(m, KeyExternal, annotation.ReadItems),
		HookScope:        m.hookScope(),
		ReadinessTimeout: read(m, KeyReadinessTimeout, annotation.ReadDuration),
	}
	m.require("path", "it names the chart; . is the chart that the file belongs to")
	if rule.Path != "" {
		rule.path = m.chartPattern("path", rule.Path)
		r.checkDependsOn(m, rule)
	}
	return rule
}

// checkDependsOn checks whether the chart of a rule can depend on siblings.
func (r *reader) checkDependsOn(m mapping, rule ChartRule) {
	n, at := m.fields[KeyDependsOn], m.at(KeyDependsOn)
	switch segments := rule.path.segments; {
	case len(rule.DependsOn) == 0 || rule.path.wildcard:
	case len(segments) == 0:
		r.addf(n, at, "the path . is the chart that the file belongs to, whose siblings are outside of the file: "+
			"use %s for its subcharts, or move the rule to the order file of the chart above it", KeyOwnDependsOn)
	case slices.Contains(rule.DependsOn, segments[len(segments)-1]):
		r.addf(n, at, "%q cannot depend on itself: remove it from the list", rule.Path)
	}
}

func (m mapping) hookScope() string {
	n := m.fields[KeyHookScope]
	if isNull(n) {
		return ""
	}
	value, isText := annotation.DecodeYAML(n).(string)
	if !isText || !slices.Contains([]string{annotation.HookScopeChart, annotation.HookScopeRelease, ""}, value) {
		m.r.addf(n, m.at(KeyHookScope), "must be %s or %s", annotation.HookScopeChart, annotation.HookScopeRelease)
	}
	return value
}

func (r *reader) readResourceRule(place Rule, n *yaml.Node) ResourceRule {
	m := r.readMapping(n, place.Path, resourceRuleFields)
	m.require("match", "it says to which resources the rule applies; match: {} matches all of them")
	readiness := m.mapping("readiness", readinessFields)
	rule := ResourceRule{
		Rule:      place,
		Layer:     read(m, KeyLayer, annotation.ReadLayerName),
		DependsOn: read(m, KeyDependsOn, annotation.ReadLayerNames),
		External:  read(m, KeyExternal, annotation.ReadItems),
		Success:   read(readiness, "success", annotation.ReadReadinessExpressions),
		Failure:   read(readiness, "failure", annotation.ReadReadinessExpressions),
		Timeout:   read(readiness, "timeout", annotation.ReadDuration),
	}
	r.readMatch(m.mapping("match", matchFields), &rule)
	if rule.Layer != "" && slices.Contains(rule.DependsOn, rule.Layer) {
		r.addf(m.fields[KeyDependsOn], m.at(KeyDependsOn), "the layer %q cannot depend on itself: remove it from the list", rule.Layer)
	}
	return rule
}

// kindPattern matches KIND and KIND.GROUP.
var kindPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$`)

func (r *reader) readMatch(m mapping, rule *ResourceRule) {
	rule.Match.Chart, rule.Match.Name = m.text("chart"), m.text("name")
	if rule.Match.Chart == "" {
		rule.chart = chartPattern{segments: []string{anySegments}, wildcard: true}
	} else {
		rule.chart = m.chartPattern("chart", rule.Match.Chart)
	}
	if kind := m.text("kind"); kind != "" {
		if !kindPattern.MatchString(kind) {
			r.addf(m.fields["kind"], m.at("kind"), "%q must be KIND or KIND.GROUP, such as Deployment or Deployment.apps", kind)
		}
		rule.Match.Kind, rule.Match.Group, _ = strings.Cut(kind, ".")
	}
	labels := m.mapping("labels", nil)
	for _, key := range slices.Sorted(maps.Keys(labels.fields)) {
		n := labels.fields[key]
		value, isText := annotation.DecodeYAML(n).(string)
		if !isText {
			r.addf(n, labels.at(key), "must be a string: quote it")
		}
		if rule.Match.Labels == nil {
			rule.Match.Labels = map[string]string{}
		}
		rule.Match.Labels[key] = value
	}
}

// chartPattern parses text, the path of charts in a field.
func (m mapping) chartPattern(field, text string) chartPattern {
	p, problem := parseChartPattern(text)
	if problem != "" {
		m.r.addf(m.fields[field], m.at(field), "%q %s", text, problem)
	}
	return p
}
