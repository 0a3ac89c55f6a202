// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"fmt"
	"strings"

	"github.com/ordered-helm/helm/internal/text"
)

// ResourceError says which resource, in which file, the error Err is about.
type ResourceError struct {
	File string
	ID   ID
	Err  error
}

func (e *ResourceError) Error() string {
	return fmt.Sprintf("%s: %s: %v", e.File, e.ID, e.Err)
}

func (e *ResourceError) Unwrap() error { return e.Err }

// DuplicateError reports that two documents define the same object. First and Second are
// the paths of their templates.
type DuplicateError struct {
	ID            ID
	First, Second string
}

func (e *DuplicateError) Error() string {
	where := "in " + e.First + " and " + e.Second
	if e.First == e.Second {
		where = "both times in " + e.First
	}
	return fmt.Sprintf("%s in namespace %q is defined twice, %s: rename (e.g. with fullnameOverride) or remove one",
		e.ID, e.ID.Namespace, where)
}

// UnknownSubchartError reports that a Chart.yaml refers to a subchart that does not exist.
type UnknownSubchartError struct {
	// File is the Chart.yaml, and Key is the key in it whose value contains Name. Key has
	// the same form as Reason.Key.
	File, Key string
	Name      string
	// Dependency is the name of the entry under "dependencies" whose depends-on contains
	// Name. It is empty if an annotation contains Name.
	Dependency string
	// Nearest is the valid name that is most similar to Name. It is empty if none is similar.
	Nearest string
	// Known lists all valid names.
	Known []string
}

func (e *UnknownSubchartError) Error() string {
	const maxKnown = 50
	hint := "; the chart has no dependencies"
	switch {
	case e.Nearest != "":
		hint = fmt.Sprintf(": did you mean %q?", e.Nearest)
	case len(e.Known) > 0:
		hint = "; known subcharts: " + text.List(e.Known, maxKnown)
	}
	return fmt.Sprintf("%s: %s refers to unknown subchart %q%s", e.File, e.Key, e.Name, hint)
}

// dependencyKeyPrefix is the beginning of Reason.Key for an entry under "dependencies" in
// a Chart.yaml. The name of the entry follows.
const dependencyKeyPrefix = "depends-on of dependency "

// dependencyOfKey returns the name that follows dependencyKeyPrefix in key, or "" if key
// is that of an annotation.
func dependencyOfKey(key string) string {
	name, is := strings.CutPrefix(key, dependencyKeyPrefix)
	if !is {
		return ""
	}
	return name
}

// CycleError reports that charts or layers depend on each other in a cycle.
type CycleError struct {
	// Edges lists the dependencies in the cycle. The To of each is the From of the next,
	// and the To of the last is the From of the first.
	Edges []CycleEdge
}

// CycleEdge is one dependency in a cycle: Key in File declares that From depends on To.
type CycleEdge struct {
	From, To, File, Key string
}

// Dependency returns the name of the entry under "dependencies" whose depends-on declares
// the edge. It is empty if an annotation declares the edge.
func (e CycleEdge) Dependency() string { return dependencyOfKey(e.Key) }

func (e *CycleError) Error() string {
	var b strings.Builder
	b.WriteString("dependency cycle:")
	for _, edge := range e.Edges {
		fmt.Fprintf(&b, "\n  %s depends on %s (%s: %s)", edge.From, edge.To, edge.File, edge.Key)
	}
	if len(e.Edges) == 1 {
		b.WriteString("\nremove the dependency on itself")
	} else {
		b.WriteString("\nremove one of these dependencies")
	}
	return b.String()
}

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
	why := fmt.Sprintf("which is deployed after it, in %s (%s)", n.ToNode.Title(), n.To.File)
	switch {
	case n.FromNode == n.ToNode:
		why = fmt.Sprintf("which is deployed at the same time (%s)", n.To.File)
	case n.unordered:
		why = fmt.Sprintf("which is not ordered before it, in %s (%s)", n.ToNode.Title(), n.To.File)
	}
	return fmt.Sprintf("%s in %s (%s) needs %s, %s: %s", n.From.ID, n.FromNode.Title(), n.From.File, n.To.ID, why, n.remedy())
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
