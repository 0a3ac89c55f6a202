// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package valuesschema

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxInstructions limits the number of instructions to which all regular expressions of a
	// schema together are compiled.
	maxInstructions = 200_000
	// maxSteps limits how often a part of a schema is compared with a part of the values. A
	// schema of a few lines can require any number of steps, because each of its parts can
	// refer to the next one twice.
	maxSteps = 1_000_000
	// maxProblems limits the number of lines with the problems of one chart.
	maxProblems = 100
)

// expressions compiles the regular expressions of a schema.
type expressions struct {
	compiled     map[string]jsonschema.Regexp
	instructions int
}

func (e *expressions) compile(text string) (jsonschema.Regexp, error) {
	if known := e.compiled[text]; known != nil {
		return known, nil
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if e.instructions += len(program.Inst); e.instructions > maxInstructions {
		return nil, fmt.Errorf("the regular expressions of the schema are too complex: they have more than %d instructions", maxInstructions)
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	e.compiled[text] = compiled
	return compiled, nil
}
