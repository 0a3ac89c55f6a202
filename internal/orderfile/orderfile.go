// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package orderfile reads order files, and determines what they declare about charts and resources
// (docs/reference.md, "Order files"). It knows nothing about templates and clusters.
package orderfile

import (
	"errors"
	"fmt"
	"time"

	"github.com/ordered-helm/helm/internal/annotation"
)

// FileName is the name of the order file in the root of a chart.
const FileName = "order.yaml"

// APIVersion and Kind are those of order files.
const (
	APIVersion = group + "/v1alpha1"
	Kind       = "Order"

	group = "helm.sh"
)

// The keys in order files that Reference and Setting name.
const (
	KeyDependsOn        = "dependsOn"
	KeyOwnDependsOn     = "ownDependsOn"
	KeyExternal         = "external"
	KeyHookScope        = "hookScope"
	KeyReadinessTimeout = "readinessTimeout"
	KeyLayer            = "layer"
	KeySuccess          = "readiness.success"
	KeyFailure          = "readiness.failure"
	KeyTimeout          = "readiness.timeout"
)

// These limits apply because an order file can come with somebody else's chart.
const (
	// MaxSize is the maximum size of an order file, in bytes.
	MaxSize = 1 << 20
	// MaxRules is the maximum number of rules in an order file.
	MaxRules = 10_000
	// MaxPatternLength is the maximum length of paths and names in rules, in bytes.
	MaxPatternLength = 1024
)

// ErrOther means that a document is not an order file, because it has another API group or kind.
var ErrOther = errors.New("not an order file")

// File is an order file.
type File struct {
	// Name is the path of the file, for messages.
	Name string
	// Chart is the path of the chart that the file belongs to. The paths in the file are relative
	// to it.
	Chart string
	// Text is the content of the file.
	Text []byte
	// Charts and Resources are the rules, in the order of the file.
	Charts    []ChartRule
	Resources []ResourceRule
}

// ChartRule is a rule under charts.
type ChartRule struct {
	// Rule is the place of the rule.
	Rule Rule
	// Path is the path of the chart, as it is written.
	Path string
	// DependsOn names siblings of the chart, and OwnDependsOn subcharts of it. External contains
	// references to external objects, which Parse does not check.
	DependsOn, OwnDependsOn, External []string
	// HookScope is empty if the rule does not set it.
	HookScope string
	// ReadinessTimeout is 0 if the rule does not set it.
	ReadinessTimeout time.Duration

	path chartPattern
}

// ResourceRule is a rule under resources.
type ResourceRule struct {
	// Rule is the place of the rule.
	Rule Rule
	// Match says to which resources the rule applies.
	Match Match
	// Layer is empty if the rule does not set it.
	Layer string
	// DependsOn names layers. External contains references to external objects, which Parse does not
	// check.
	DependsOn, External []string
	// Success and Failure are readiness expressions.
	Success, Failure []annotation.ReadinessExpression
	// Timeout is 0 if the rule does not set it.
	Timeout time.Duration

	chart chartPattern
}

// Match says to which resources a rule applies. Fields that are empty match everything.
type Match struct {
	// Chart is the path of the chart, as it is written.
	Chart string
	// Kind is a kind, and Group its API group.
	Kind, Group string
	// Name is a name in which * stands for any text.
	Name string
	// Labels must all be equal to those of the resource.
	Labels map[string]string
}

// Rule is the place of a rule.
type Rule struct {
	// File is the name of the file.
	File string
	// Path is the path of the rule in the file, such as charts[1].
	Path string
	// Line is the line where the rule begins. The first line is 1.
	Line int
}

// String returns the place in the form that messages use.
func (r Rule) String() string { return fmt.Sprintf("%s:%d: %s", r.File, r.Line, r.Path) }

// Reference is a name to which a rule refers: a sibling, a subchart, a layer or an external object.
type Reference struct {
	Name string
	Rule Rule
	// Key is the key of the list with the name, such as dependsOn.
	Key string
}

// Setting is a single value, which is set by the strongest rule that has one.
type Setting[T any] struct {
	Value T
	Rule  Rule
	// Key is the key of the value, such as readiness.timeout.
	Key string
}

// Error reports a problem in an order file.
type Error struct {
	// File is the name of the file, and Line the line of the problem. The first line is 1.
	File string
	Line int
	// Path is the path of the invalid value, such as charts[1].dependsOn. It is empty if the problem
	// is not about a single value.
	Path string
	// Problem says what is wrong, and how to correct it.
	Problem string
}

func (e *Error) Error() string {
	at := fmt.Sprintf("%s:%d: ", e.File, e.Line)
	if e.Path != "" {
		at += e.Path + ": "
	}
	return at + e.Problem
}
