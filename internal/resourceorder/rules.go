// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package resourceorder

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/chartorder"
	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/ordererror"
	"github.com/ordered-helm/helm/internal/orderfile"
)

// applyRules adds to o what order files say about r.
func (rd Reader) applyRules(r Resource, o *Order) error {
	if rd.Rules == nil {
		return nil
	}
	labels := map[string]string{}
	for key, value := range field.Map(r.Object, "metadata", "labels") {
		if text, is := value.(string); is {
			labels[key] = text
		}
	}
	rules, err := rd.Rules.Resource(orderfile.Resource{Chart: r.Chart.Path, Group: r.ID.Group, Kind: r.ID.Kind, Name: r.ID.Name, Labels: labels})
	if err != nil {
		return err
	}
	err = errors.Join(
		rd.setLayer(r, o, rules.Layer),
		o.setTimeout(r, rules.Timeout),
	)
	o.addDependencies(rules.DependsOn)
	o.ExternalDeclarations = append(o.ExternalDeclarations, chartorder.ExternalOfRules(rules.External, r.ID.String())...)
	o.Success, o.Failure = append(o.Success, rules.Success...), append(o.Failure, rules.Failure...)
	return err
}

// setLayer sets the layer of r to that of a rule.
func (rd Reader) setLayer(r Resource, o *Order, s *orderfile.Setting[string]) error {
	switch {
	case s == nil || s.Value == o.Layer:
		return nil
	case o.Layer != "":
		key := annotation.Layer
		if field.Map(r.Object, "metadata", "annotations")[key] == nil {
			key = annotation.ResourceGroup
		}
		return conflict(r, s.Rule, s.Key, s.Value, ordererror.Declaration{File: r.File, Key: rd.writtenKey(r, key), Value: o.Layer})
	}
	o.Layer = s.Value
	return nil
}

// setTimeout sets the readiness timeout of r to that of a rule or, without one, to that of its chart.
func (o *Order) setTimeout(r Resource, s *orderfile.Setting[time.Duration]) error {
	switch {
	case s != nil && o.Timeout != 0 && o.Timeout != s.Value:
		return conflict(r, s.Rule, s.Key, s.Value.String(), ordererror.Declaration{File: r.File, Key: annotation.ReadinessTimeout, Value: o.Timeout.String()})
	case s != nil:
		o.Timeout = s.Value
	case r.Chart.Rules.ReadinessTimeout != nil:
		o.Timeout = cmp.Or(o.Timeout, r.Chart.Rules.ReadinessTimeout.Value)
	}
	return nil
}

func conflict(r Resource, rule orderfile.Rule, key, value string, other ordererror.Declaration) error {
	return &ordererror.ConflictError{Subject: r.ID.String(), First: ordererror.Declaration{File: rule.File, Key: rule.Path + "." + key, Value: value}, Second: other}
}

// addDependencies adds layers on which rules make the resource depend. A rule can match the resources of such a layer,
// too, which then do not depend on themselves.
func (o *Order) addDependencies(layers []orderfile.Reference) {
	for _, layer := range layers {
		if layer.Name == o.Layer || slices.Contains(o.DependsOn, layer.Name) {
			continue
		}
		if o.rules == nil {
			o.rules = map[string]orderfile.Reference{}
		}
		o.rules[layer.Name] = layer
		o.DependsOn = append(o.DependsOn, layer.Name)
	}
	slices.Sort(o.DependsOn)
}
