// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"fmt"
	"strings"

	"github.com/ordered-helm/helm/internal/chartorder"
	"github.com/ordered-helm/helm/internal/ordererror"
)

type (
	// ResourceError says which resource an error is about.
	ResourceError = ordererror.ResourceError
	// DuplicateError reports that two documents define the same object.
	DuplicateError = ordererror.DuplicateError
	// UnknownSubchartError reports that a Chart.yaml refers to a subchart that does not exist.
	UnknownSubchartError = ordererror.UnknownSubchartError
	// DependenciesError reports that a release declares more than MaxDependencies dependencies.
	DependenciesError = chartorder.DependenciesError
	// CycleError reports that charts or layers depend on each other in a cycle.
	CycleError = ordererror.CycleError
	// CycleEdge is one dependency in a cycle.
	CycleEdge = ordererror.CycleEdge
)

// UnmetNeedsError reports references that the order cannot satisfy. Actions return it only
// for objects that do not exist in the cluster either.
type UnmetNeedsError struct {
	Needs []UnmetNeed
}

func (e *UnmetNeedsError) Error() string {
	lines := make([]string, len(e.Needs))
	for i, n := range e.Needs {
		lines[i] = n.String()
	}
	return "the order cannot be satisfied:\n  " + strings.Join(lines, "\n  ")
}

// String says which resource refers to which object, why the object is deployed too late,
// and how to change the order.
func (n UnmetNeed) String() string {
	from := fmt.Sprintf("%s in %s (%s) needs %s", n.From.ID, n.FromNode.Title(), n.From.File, n.To.ID)
	if n.HookProblem != "" {
		return from + ", " + n.HookProblem
	}
	why := fmt.Sprintf("which is deployed after it, in %s (%s)", n.ToNode.Title(), n.To.File)
	switch {
	case n.FromNode == n.ToNode:
		why = fmt.Sprintf("which is deployed at the same time (%s)", n.To.File)
	case n.unordered:
		why = fmt.Sprintf("which is not ordered before it, in %s (%s)", n.ToNode.Title(), n.To.File)
	}
	return fmt.Sprintf("%s, %s: %s", from, why, n.remedy())
}

// remedy returns advice on how to change the charts so that the reference is satisfied.
func (n UnmetNeed) remedy() string {
	from, to := n.FromNode.Chart, n.ToNode.Chart
	switch {
	case strings.HasPrefix(from, to+"/") && n.unordered:
		return fmt.Sprintf("a chart cannot depend on its parent: move the %s to chart %s, or to a chart that it depends on", n.To.ID.Kind, from)
	case strings.HasPrefix(from, to+"/"):
		return fmt.Sprintf("move the %s to chart %s, or remove the dependency on that chart from depends-on.helm.sh/subcharts of chart %s",
			n.To.ID.Kind, from, to)
	case from != to && !n.unordered:
		return fmt.Sprintf("reverse the order of charts %s and %s, which is declared by depends-on in Chart.yaml, or move the %s", from, to, n.To.ID.Kind)
	case from != to:
		return fmt.Sprintf("make chart %s depend on chart %s, with depends-on or depends-on.helm.sh/subcharts in Chart.yaml, or move the %s", from, to, n.To.ID.Kind)
	case mustComeFirst(n.To.ID.Kind, n.FromNode == n.ToNode), n.FromNode.Layer != "" && n.suggestedLayer == "":
		return fmt.Sprintf("put %s into a separate layer (helm.sh/layer), and list that layer in depends-on.helm.sh/layers of %s", n.To.ID, n.From.ID)
	case n.FromNode.Layer != "":
		return fmt.Sprintf("annotate %s with helm.sh/layer: %s, or an earlier layer", n.To.ID, n.suggestedLayer)
	}
	return fmt.Sprintf("annotate %s with helm.sh/layer and a layer that %s depends on", n.To.ID, n.From.ID)
}
