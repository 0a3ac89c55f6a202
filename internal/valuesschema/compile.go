// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package valuesschema

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaURL is the URL that Helm gives to the schema of a chart.
const schemaURL = "file:///" + JSONFile

// noLoader loads nothing, so that no schema can refer to anything outside itself.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, fmt.Errorf("%s is outside the chart", url) }

// compile compiles a schema with the library that Helm uses. The schema is for the
// validation v, which is nil if the schema is only checked.
func compile(content any, v *validation) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine((&expressions{compiled: map[string]jsonschema.Regexp{}}).compile)
	if v != nil {
		c.RegisterVocabulary(v.vocabulary())
		c.AssertVocabs()
	}
	if err := c.AddResource(schemaURL, content); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// compile returns an error if the content is not a JSON Schema.
func (b *bundle) compile(content any) error {
	_, err := compile(content, nil)
	if err == nil {
		return nil
	}
	at, problem := problemIn(err)
	d, path := b.place(at)
	_, leaves := errors.AsType[*jsonschema.LoadURLError](err)
	e := d.newError(path, "is not a JSON Schema: %s", problem)
	e.LeavesChart = leaves
	return e
}

// problemIn returns what is wrong with a schema, and the path to the place.
func problemIn(err error) (at []string, problem string) {
	if e, ok := errors.AsType[*jsonschema.InvalidRegexError](err); ok {
		if u, urlErr := url.Parse(e.URL); urlErr == nil {
			at = splitPointer(u.Fragment)
		}
		return at, fmt.Sprintf("invalid regular expression %q: %v", e.Regex, e.Err)
	}
	e, ok := errors.AsType[*jsonschema.SchemaValidationError](err)
	if !ok {
		return nil, err.Error()
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](e.Err)
	if !ok {
		return nil, err.Error()
	}
	for len(invalid.Causes) > 0 {
		invalid = invalid.Causes[0]
	}
	problem = messageOf(invalid.ErrorKind)
	if len(invalid.InstanceLocation) > 0 {
		problem = invalid.InstanceLocation[len(invalid.InstanceLocation)-1] + ": " + problem
	}
	return invalid.InstanceLocation, problem
}
