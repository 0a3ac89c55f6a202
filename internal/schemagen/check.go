// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package schemagen

import (
	"errors"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/valuesschema"
)

// check returns an error if a value does not fit its keyword.
func (a *annotation) check() error {
	schema := mappingNode()
	for i, k := range a.keywords {
		if slices.ContainsFunc(a.keywords[:i], func(other keyword) bool { return other.name == k.name }) {
			return fmt.Errorf("%s: is written twice", k.name)
		}
		schema.Content = append(schema.Content, textNode(k.name), k.value)
	}
	if e := findLeaving(checkSchema(schema)); e != nil {
		return errors.New(e.Problem)
	}
	err := checkSchema(withoutReferences(schema)) // references are checked when the schema is complete
	if e, ok := errors.AsType[*valuesschema.Error](err); ok {
		return errors.New(e.Problem) // it is in no file
	}
	return err
}

// checkSchema returns an error if a node is not a schema.
func checkSchema(schema *yaml.Node) error {
	text, err := yaml.Marshal(schema)
	if err != nil {
		return err
	}
	_, err = valuesschema.Translate(valuesschema.Source{Text: text})
	return err
}

// findLeaving returns the error in err about a reference to something outside the chart, or nil.
func findLeaving(err error) *valuesschema.Error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			if e := findLeaving(one); e != nil {
				return e
			}
		}
		return nil
	}
	if e, ok := errors.AsType[*valuesschema.Error](err); ok && e.LeavesChart {
		return e
	}
	return nil
}

// withoutReferences returns a copy of a schema without its references.
func withoutReferences(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	for i := 0; i < len(n.Content); i++ {
		if n.Kind == yaml.MappingNode && i%2 == 0 && n.Content[i].Value == "$ref" {
			i++
			continue
		}
		c.Content = append(c.Content, withoutReferences(n.Content[i]))
	}
	return &c
}
