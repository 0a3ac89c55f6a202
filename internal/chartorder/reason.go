// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartorder

import (
	"slices"
	"time"

	"github.com/ordered-helm/helm/internal/orderfile"
)

// Reason is the place in a chart that declares an Edge.
type Reason struct {
	// File is the path of the template or Chart.yaml with the declaration. It begins with
	// the root chart.
	File string
	// Resource is the annotated resource, for example "Deployment/web". It is empty if
	// File is a Chart.yaml.
	Resource string
	// Key is the key of the annotation. For an entry under "dependencies" in a Chart.yaml,
	// it is "depends-on of dependency NAME", where NAME is the name of the entry.
	Key string
	// Value is the name in the declaration that refers to the layer or subchart.
	Value string
	// Implicit reports whether nothing declares the edge: it follows from the rule that the
	// unlayered resources of a chart come after its layers. The other fields are then empty.
	Implicit bool
}

// Compare orders reasons by file, resource, key and value.
func (r Reason) Compare(other Reason) int {
	return slices.Compare([]string{r.File, r.Resource, r.Key, r.Value}, []string{other.File, other.Resource, other.Key, other.Value})
}

// ReasonOfRule returns the reason for a reference in a rule of an order file. resource is the resource
// that the rule is about; empty if it is about a chart.
func ReasonOfRule(r orderfile.Reference, resource string) Reason {
	return Reason{File: r.Rule.File, Key: r.Rule.Path + "." + r.Key, Value: r.Name, Resource: resource}
}

// External is a declaration of an external dependency.
type External struct {
	// Need is the external dependency, which can be invalid: package externalneed parses it.
	Need string
	// Timeout limits the wait; 0 if the declaration sets no limit.
	Timeout time.Duration
	Reason  Reason
}

// ExternalOfRules returns the declarations of rules of order files. resource is that of ReasonOfRule.
func ExternalOfRules(rules []orderfile.Reference, resource string) []External {
	var declared []External
	for _, r := range rules {
		declared = append(declared, External{Need: r.Name, Reason: ReasonOfRule(r, resource)})
	}
	return declared
}
