// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartformat

import "fmt"

// FieldError reports an invalid field in a file with the metadata of a chart.
type FieldError struct {
	// File is the name of the file in the chart.
	File string
	// Line and Column are the position of the value of the field; 0 if they are not known.
	Line, Column int
	// Field is the path of the field, such as data.icon; empty if the problem is not about one
	// field.
	Field string
	// Problem says what is wrong, and how to correct it.
	Problem string
}

func (e *FieldError) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	if e.Field != "" {
		at += ": " + e.Field
	}
	return at + ": " + e.Problem
}
