// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"fmt"

	"k8s.io/client-go/util/jsonpath"
)

// These limits apply because an expression is evaluated for each observed version of an
// object, which can be as large as the API server accepts.
const (
	// maxExpressionLength limits the length of an expression, in bytes.
	maxExpressionLength = 4096
	// MaxExpressions is the maximum number of expressions under one key.
	MaxExpressions = 100
	// maxDescents limits how often a path can contain "..", which visits all nested values.
	// Each further occurrence multiplies the work by the depth of the object.
	maxDescents = 1
	// maxBranches limits how many paths a path with unions expands to. For example,
	// ['a','b']['c','d'] expands to four.
	maxBranches = 1000
)

// checkCost rejects a path that visits the same values many times, because even a short
// path could then take hours.
func checkCost(nodes []jsonpath.Node) error {
	c := pathCost{}
	branches := c.branches(nodes)
	switch {
	case c.descents > maxDescents:
		return fmt.Errorf("has \"..\" %d times; the maximum is %d", c.descents, maxDescents)
	case branches > maxBranches:
		return fmt.Errorf("its unions expand to more than %d paths", maxBranches)
	}
	return nil
}

// pathCost counts what makes a path expensive. descents is the number of "..".
type pathCost struct{ descents int }

// branches returns the number of paths that the unions in nodes expand to, at most
// maxBranches+1.
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
