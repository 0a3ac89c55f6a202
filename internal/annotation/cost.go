// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"fmt"

	"k8s.io/client-go/util/jsonpath"
)

// What readiness expressions may be at most. They are asked of every version of an
// object that is seen, and that may be as large as the API server takes.
const (
	// maxExpression is how many bytes an expression may have.
	maxExpression = 4096
	// maxExpressions is how many there may be under one key.
	maxExpressions = 100
	// maxDescents is how often a path may descend into everything: each time
	// multiplies what it looks at by the depth of the object.
	maxDescents = 1
	// maxBranches is into how many paths the unions of one may make it.
	maxBranches = 1000
)

// checkCost refuses paths that look at the same values again and again, so that
// a few characters take hours.
func checkCost(nodes []jsonpath.Node) error {
	c := pathCost{}
	branches := c.branches(nodes)
	switch {
	case c.descents > maxDescents:
		return fmt.Errorf("it has \"..\" %d times, but may have it once", c.descents)
	case branches > maxBranches:
		return fmt.Errorf("its unions expand to more than %d paths", maxBranches)
	}
	return nil
}

// pathCost counts what makes a path look at values again.
type pathCost struct{ descents int }

// branches is how many paths without unions say the same: one more than maxBranches
// where there are more than that.
func (c *pathCost) branches(nodes []jsonpath.Node) int {
	total := 1
	for _, node := range nodes {
		here := 1
		switch step := node.(type) {
		case *jsonpath.RecursiveNode:
			c.descents++
		case *jsonpath.ListNode:
			here = c.branches(step.Nodes)
		case *jsonpath.UnionNode:
			here = 0
			for _, list := range step.Nodes {
				here += c.branches(list.Nodes)
			}
		case *jsonpath.FilterNode:
			here = c.branches(step.Left.Nodes) * c.branches(step.Right.Nodes)
		}
		total = min(total*here, maxBranches+1)
	}
	return total
}
