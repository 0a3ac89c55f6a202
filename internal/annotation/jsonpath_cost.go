// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"fmt"

	"k8s.io/client-go/util/jsonpath"
)

// Limits of readiness expressions. They are evaluated for each observed version of an
// object, which may be as large as the API server accepts.
const (
	// maxExpression limits an expression, in bytes.
	maxExpression = 4096
	// maxExpressions limits the expressions of one key.
	maxExpressions = 100
	// maxDescents limits how often a path may descend recursively. Each time multiplies
	// the evaluated values by the depth of the object.
	maxDescents = 1
	// maxBranches limits the number of paths that the unions of a path expand to.
	maxBranches = 1000
)

// checkCost rejects paths that evaluate the same values again and again, so that a few
// characters could take hours.
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

// pathCost counts the expensive parts of a path.
type pathCost struct{ descents int }

// branches returns the number of paths that unions expand to, up to maxBranches+1.
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
