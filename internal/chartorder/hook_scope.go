// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartorder

import (
	"errors"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/ordererror"
)

// resolveHookScopes determines the hook scope of each chart. All declarations for a chart must agree.
func (t *Tree) resolveHookScopes() error {
	var problems []error
	for _, c := range t.Charts {
		declared := t.scopeDeclarations(c)
		if len(declared) == 0 {
			if c.Parent >= 0 {
				c.HookScope, c.ReleaseScope = t.Charts[c.Parent].HookScope, t.Charts[c.Parent].ReleaseScope
			}
			continue
		}
		first := declared[0]
		for _, other := range declared[1:] {
			if other.Value != first.Value {
				problems = append(problems, &ordererror.ConflictError{Subject: "chart " + c.Path, First: first, Second: other})
			}
		}
		if first.Value == annotation.HookScopeChart {
			c.HookScope = c.Index
		} else {
			c.ReleaseScope = true
		}
	}
	return errors.Join(problems...)
}

// scopeDeclarations returns the declarations of the hook scope of c that count: that of order files, its own, and
// that in the Chart.yaml of its parent.
func (t *Tree) scopeDeclarations(c *TreeChart) []ordererror.Declaration {
	var declared []ordererror.Declaration
	if s := c.Rules.HookScope; s != nil {
		declared = append(declared, ordererror.Declaration{File: s.Rule.File, Key: s.Rule.Path + "." + s.Key, Value: s.Value})
	}
	if c.Sequenced && c.Chart.HookScope != "" {
		declared = append(declared, ordererror.Declaration{File: c.chartFile(), Key: annotation.HookScopeField, Value: c.Chart.HookScope})
	}
	if c.Parent < 0 || !t.Charts[c.Parent].Sequenced {
		return declared
	}
	parent := t.Charts[c.Parent]
	for _, d := range parent.Chart.Dependencies {
		if d.HookScope != "" && !d.Disabled && d.nameInTree() == c.Chart.Name {
			declared = append(declared, ordererror.Declaration{
				File: parent.chartFile(), Key: annotation.HookScopeField + " of dependency " + d.nameInTree(), Value: d.HookScope,
			})
		}
	}
	return declared
}
