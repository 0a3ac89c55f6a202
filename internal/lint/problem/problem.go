// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package problem defines what the packages for parts of a chart return to package lint.
package problem

import (
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/source"
)

// Problem is a violation of a rule in a chart.
type Problem struct {
	Rule    rule.Rule
	At      source.Position
	Message string
}
