// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"fmt"
	"slices"
	"time"

	"github.com/ordered-helm/helm/internal/annotation"
)

// Resource is what rules need to know about a resource.
type Resource struct {
	// Chart is the path of its chart.
	Chart             string
	Group, Kind, Name string
	Labels            map[string]string
}

// ResourceOrder is what order files declare about a resource.
type ResourceOrder struct {
	// Layer is nil if no rule sets it.
	Layer *Setting[string]
	// DependsOn names layers of the resource's chart, and External external objects. The lists
	// contain each name once, in the order of the files and rules.
	DependsOn, External []Reference
	// Success and Failure are readiness expressions, each once.
	Success, Failure []annotation.ReadinessExpression
	// Timeout is nil if no rule sets it.
	Timeout *Setting[time.Duration]
}

// Resource returns what the files declare about a resource. The error is an *Error.
func (e *Evaluation) Resource(r Resource) (ResourceOrder, error) {
	if e == nil || len(e.resources.rules) == 0 {
		return ResourceOrder{}, nil
	}
	rules := e.resourceRules(r)
	if len(rules) == 0 {
		return ResourceOrder{}, nil
	}
	order := ResourceOrder{
		Layer:     strongest(rules, KeyLayer, func(r *rule) string { return r.resource.Layer }),
		DependsOn: unite(rules, KeyDependsOn, func(r *rule) []string { return r.resource.DependsOn }),
		External:  unite(rules, KeyExternal, func(r *rule) []string { return r.resource.External }),
		Timeout:   strongest(rules, KeyTimeout, func(r *rule) time.Duration { return r.resource.Timeout }),
	}
	for _, r := range rules {
		r.matched = true
		order.Success = uniteExpressions(order.Success, r.resource.Success)
		order.Failure = uniteExpressions(order.Failure, r.resource.Failure)
		if len(order.Success) > annotation.MaxExpressions {
			return ResourceOrder{}, tooManyExpressions(r, KeySuccess)
		}
		if len(order.Failure) > annotation.MaxExpressions {
			return ResourceOrder{}, tooManyExpressions(r, KeyFailure)
		}
	}
	return order, nil
}

// uniteExpressions appends the expressions in more that are not in list. Both lists are short.
func uniteExpressions(list, more []annotation.ReadinessExpression) []annotation.ReadinessExpression {
	for _, e := range more {
		if !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list
}

func tooManyExpressions(r *rule, key string) error {
	return &Error{File: r.place.File, Line: r.place.Line, Path: r.place.Path + "." + key, Problem: fmt.Sprintf(
		"a resource that this rule matches has more than %d expressions, together with those of other rules: use fewer expressions, or rules that match fewer resources",
		annotation.MaxExpressions)}
}
