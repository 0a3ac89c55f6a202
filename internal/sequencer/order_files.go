// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/ordererror"
	"github.com/ordered-helm/helm/internal/orderfile"
)

// evaluateOrderFiles sets what order files say about the charts, and which charts are sequenced.
func (b *builder) evaluateOrderFiles() {
	if b.input.OrderFiles != nil {
		nodes := make([]orderfile.ChartNode, len(b.charts))
		for i, c := range b.charts {
			nodes[i].Path = c.path
			for _, d := range c.Dependencies {
				if d.Disabled {
					nodes[i].Disabled = append(nodes[i].Disabled, d.nameInTree())
				}
			}
		}
		b.order = b.input.OrderFiles.Evaluate(nodes)
	}
	for _, c := range b.charts {
		c.order = b.order.Chart(c.path)
		c.Sequenced = c.Chart.Sequenced || c.order.Named && !c.OptedOut
		c.ignored = c.Declares && !c.Sequenced && !c.OptedOut
	}
}

// applyRules adds to r what order files say about it.
func (b *builder) applyRules(r *draftResource) error {
	if b.order == nil {
		return nil
	}
	labels := map[string]string{}
	for key, value := range field.Map(r.object, "metadata", "labels") {
		if text, is := value.(string); is {
			labels[key] = text
		}
	}
	order, err := b.order.Resource(orderfile.Resource{Chart: r.chart.path, Group: r.ID.Group, Kind: r.ID.Kind, Name: r.ID.Name, Labels: labels})
	if err != nil {
		return err
	}
	err = errors.Join(
		r.setLayer(order.Layer, b.input),
		r.setTimeout(order.Timeout),
	)
	r.addDependencies(order.DependsOn)
	r.externalRules = order.External
	r.Success, r.Failure = append(r.Success, order.Success...), append(r.Failure, order.Failure...)
	return err
}

// setLayer sets the layer of r to that of a rule.
func (r *draftResource) setLayer(s *orderfile.Setting[string], in Input) error {
	switch {
	case s == nil || s.Value == r.order.Layer:
		return nil
	case r.order.Layer != "":
		key := annotation.Layer
		if field.Map(r.object, "metadata", "annotations")[key] == nil {
			key = annotation.ResourceGroup
		}
		return conflict(r.ID.String(), s.Rule, s.Key, s.Value, ordererror.Declaration{File: r.File, Key: in.writtenKey(r, key), Value: r.order.Layer})
	}
	r.order.Layer = s.Value
	return nil
}

// setTimeout sets the readiness timeout of r to that of a rule or, without one, to that of its chart.
func (r *draftResource) setTimeout(s *orderfile.Setting[time.Duration]) error {
	switch {
	case s != nil && r.Timeout != 0 && r.Timeout != s.Value:
		return conflict(r.ID.String(), s.Rule, s.Key, s.Value.String(), ordererror.Declaration{File: r.File, Key: annotation.ReadinessTimeout, Value: r.Timeout.String()})
	case s != nil:
		r.Timeout = s.Value
	case r.chart.order.ReadinessTimeout != nil:
		r.Timeout = cmp.Or(r.Timeout, r.chart.order.ReadinessTimeout.Value)
	}
	return nil
}

func conflict(subject string, rule orderfile.Rule, key, value string, other ordererror.Declaration) error {
	return &ordererror.ConflictError{Subject: subject, First: ordererror.Declaration{File: rule.File, Key: rule.Path + "." + key, Value: value}, Second: other}
}

// addDependencies adds layers on which rules make r depend. A rule can match the resources of such a layer, too,
// which then do not depend on themselves.
func (r *draftResource) addDependencies(layers []orderfile.Reference) {
	for _, layer := range layers {
		if layer.Name == r.order.Layer || slices.Contains(r.order.DependsOn, layer.Name) {
			continue
		}
		if r.rules == nil {
			r.rules = map[string]orderfile.Reference{}
		}
		r.rules[layer.Name] = layer
		r.order.DependsOn = append(r.order.DependsOn, layer.Name)
	}
	slices.Sort(r.order.DependsOn)
}

// ruleReason returns the declaration of an edge that a rule contains. resource is the resource that it is
// about; empty if it is about a chart.
func ruleReason(r orderfile.Reference, resource string) Reason {
	return Reason{File: r.Rule.File, Key: r.Rule.Path + "." + r.Key, Value: r.Name, Resource: resource}
}

// resolveRules finds the charts on which rules of order files make charts depend.
func (b *builder) resolveRules() error {
	if b.order == nil {
		return nil
	}
	unknown := unknownReferences{builder: b, found: map[orderfile.Reference]bool{}}
	names := map[*draftChart]*subchartNames{}
	namesOf := func(c *draftChart) *subchartNames {
		if names[c] == nil {
			names[c] = newSubchartNames(c)
		}
		return names[c]
	}
	var problems []error
	for _, c := range b.charts {
		if c.parent != nil {
			charts, err := b.resolveReferences(namesOf(c.parent), c.order.DependsOn, draftEnd{chart: c}, &unknown)
			c.after, problems = sortUnique(append(c.after, charts...)), append(problems, err)
		}
		if len(c.order.OwnDependsOn) > 0 {
			charts, err := b.resolveReferences(namesOf(c), c.order.OwnDependsOn, draftEnd{chart: c, own: true}, &unknown)
			c.ownAfter, problems = sortUnique(append(c.ownAfter, charts...)), append(problems, err)
		}
	}
	return errors.Join(append(problems, unknown.err())...)
}

// resolveReferences returns the charts that the references name, and declares that dependent depends on them.
func (b *builder) resolveReferences(n *subchartNames, list []orderfile.Reference, dependent draftEnd, unknown *unknownReferences) ([]*draftChart, error) {
	var all []*draftChart
	for _, r := range list {
		charts, known := n.known[r.Name]
		unknown.add(r, n, known)
		if err := b.dependencies.add(max(len(charts), 1), r.Rule.File); err != nil || b.dependencies.exceeded() {
			return all, err
		}
		for _, c := range charts {
			if c != dependent.chart {
				all = append(all, c)
				b.declare(draftEnd{chart: c}, dependent, ruleReason(r, ""))
			}
		}
	}
	return all, nil
}

// unknownReferences collects references of rules to subcharts that do not exist. A rule whose path has a "*" can
// match charts that do not have all of the siblings that it names.
type unknownReferences struct {
	builder *builder
	found   map[orderfile.Reference]bool
	list    []unknownReference
}

type unknownReference struct {
	orderfile.Reference
	names *subchartNames
}

func (u *unknownReferences) add(r orderfile.Reference, n *subchartNames, known bool) {
	if _, seen := u.found[r]; !seen && !known {
		u.list = append(u.list, unknownReference{r, n})
	}
	u.found[r] = u.found[r] || known
}

// err returns an error for each reference that is unknown in all charts.
func (u *unknownReferences) err() error {
	var problems []error
	for _, r := range u.list {
		if !u.found[r.Reference] {
			names := *r.names
			names.file = r.Rule.File
			problems = append(problems, u.builder.unknownSubchart(&names, r.Name, r.Rule.Path+"."+r.Key))
		}
	}
	return errors.Join(problems...)
}

// warnUnmatchedRules warns about rules that match no chart and no resource.
func (b *builder) warnUnmatchedRules() {
	for _, r := range b.order.Unmatched() {
		b.warnings = append(b.warnings, Warning{
			Kind: WarningUnmatchedRule, Chart: b.charts[0].path, File: r.File, Key: r.Path,
			text: fmt.Sprintf("%s matches nothing in this release: the rule is ignored", r),
		})
	}
}
