// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"regexp"
	"strconv"
	"strings"
)

// parserLine finds the line in an error of the YAML parser.
var parserLine = regexp.MustCompile(`\bline (\d+): `)

// SyntaxError returns the line of an error of the YAML parser, and what is wrong there. line is 0
// if the error does not contain it.
func SyntaxError(err error) (line int, problem string) {
	text := err.Error()
	m := parserLine.FindStringSubmatchIndex(text)
	if m == nil {
		return 0, "invalid YAML: " + text
	}
	line, _ = strconv.Atoi(text[m[2]:m[3]])
	return line, "invalid YAML: " + strings.TrimSpace(text[m[1]:])
}
