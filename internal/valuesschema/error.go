// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package valuesschema

import (
	"fmt"

	"github.com/ordered-helm/helm/internal/yamledit"
)

// Error says what is wrong with the schema of a chart, and where.
type Error struct {
	// File is the path of the file. It is relative to the root chart.
	File string
	// Line and Column are the place in the file. They start at 1; 0 if they are not known.
	Line, Column int
	// Problem says what is wrong, and how to correct it.
	Problem string
	// LeavesChart is true if the problem is a reference to something outside the chart.
	LeavesChart bool
}

func (e *Error) Error() string { return e.place() + " " + e.Problem }

// place returns the file and the line.
func (e *Error) place() string {
	if e.Line == 0 {
		return e.File + ":"
	}
	return fmt.Sprintf("%s:%d:", e.File, e.Line)
}

// newSyntaxError returns the error for a file that is not YAML. err is the error of the parser.
func newSyntaxError(file string, err error) *Error {
	line, problem := yamledit.SyntaxError(err)
	return &Error{File: file, Line: line, Problem: problem}
}
