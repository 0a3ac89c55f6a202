// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package valuesschema

import (
	"errors"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// errTooManySteps is the panic that ends a validation.
var errTooManySteps = fmt.Errorf("the validation takes more than %d steps: simplify the schema", maxSteps)

// validation is one validation of values. It is an extension of each part of the schema: the
// library calls its method Validate for each step, but cannot interrupt a validation.
type validation struct {
	steps int
	// named contains the paths of the mappings whose keys the schema restricts, by their keys.
	named map[string][][]string
}

// vocabulary returns the vocabulary that makes v an extension.
func (v *validation) vocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: "urn:validation", Schema: &jsonschema.Schema{},
		Compile: func(_ *jsonschema.CompilerContext, part map[string]any) (jsonschema.SchemaExt, error) {
			_, restrictsNames := part["propertyNames"]
			return &extension{v, restrictsNames}, nil
		},
	}
}

// extension is the extension of one part of a schema.
type extension struct {
	*validation
	restrictsNames bool
}

// Validate counts a step, and panics with errTooManySteps if there are too many.
func (e *extension) Validate(ctx *jsonschema.ValidatorContext, value any) {
	if e.steps++; e.steps > maxSteps {
		panic(errTooManySteps)
	}
	if mapping, isMapping := value.(map[string]any); isMapping && e.restrictsNames {
		path := slices.Clone(ctx.ValueLocation())
		for name := range mapping {
			e.named[name] = append(e.named[name], path)
		}
	}
}

// run compares values with a schema that was compiled for v.
func (v *validation) run(schema *jsonschema.Schema, values any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if tooMany, ok := r.(error); !ok || !errors.Is(tooMany, errTooManySteps) {
				panic(r)
			}
			err = errTooManySteps
		}
	}()
	err = schema.Validate(values)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		v.correctPaths(invalid)
	}
	return err
}

// correctPaths sets the paths of the errors about the names of properties. The library overwrites
// them when it validates other values.
func (v *validation) correctPaths(e *jsonschema.ValidationError) {
	for _, cause := range e.Causes {
		v.correctPaths(cause)
	}
	k, ok := e.ErrorKind.(*kind.PropertyNames)
	if !ok {
		return
	}
	paths := v.named[k.Property]
	i := slices.IndexFunc(paths, func(path []string) bool { return len(path) == len(e.InstanceLocation) })
	if i < 0 {
		return
	}
	e.InstanceLocation = paths[i]
	v.named[k.Property] = slices.Delete(paths, i, i+1)
	for _, cause := range e.Causes {
		cause.InstanceLocation = e.InstanceLocation
	}
}
