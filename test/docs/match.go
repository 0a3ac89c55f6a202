// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"regexp"
	"strings"
)

// wildcard matches any text. Alone on a line, it matches any lines.
const wildcard = "..."

// varying contains patterns of text that differs from run to run, with the text that replaces
// it in both the page and the output before they are compared.
var varying = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d+ \d\d:\d\d:\d\d \d{4}\b`), "TIME"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( ?[+-]\d{4} [A-Z]+|Z|[+-]\d\d:\d\d)?`), "TIME"},
	// The suffixes that a Deployment and its ReplicaSet add to the names of pods.
	{regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "-HASH-POD"},
	{regexp.MustCompile(`(Pod [a-z0-9/.-]+)-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "$1-POD"},
	// Only seconds with a fraction are measured times. Those without one, such as 10s, are
	// timeouts, and are compared.
	{regexp.MustCompile(` *\b\d+\.\d+s\b`), " SECONDS"},
	{regexp.MustCompile(`restarted (\d+ times|once)`), "restarted N times"},
	{regexp.MustCompile(`(\S)[ \t]+`), "$1 "},
}

// passing matches progress lines about resources that are not ready yet. Whether they are
// printed depends on timing.
var passing = regexp.MustCompile(`^ +\d+\.\d+s  .*[A-Z][A-Za-z]+/\S+: (InProgress|Terminating|Missing|Ready|Gone)\b`)

func normalize(line string) string {
	for _, v := range varying {
		line = v.pattern.ReplaceAllString(line, v.replacement)
	}
	return strings.TrimRight(line, " \t")
}

// Match returns an error unless the output of a command matches the lines on a page. It
// ignores measured times, random suffixes of names, blanks between columns, and lines about
// resources that are not ready yet.
func Match(want []string, output string) error {
	got := strings.Split(strings.TrimRight(output, "\n"), "\n")
	var actual strings.Builder
	for _, line := range got {
		if passing.MatchString(line) {
			continue
		}
		actual.WriteString(normalize(line) + "\n")
	}
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	matched := 0 // how many lines of the page match
	for _, line := range want {
		if passing.MatchString(line) {
			continue
		}
		pattern.WriteString(linePattern(line))
		if !regexp.MustCompile(pattern.String()).MatchString(actual.String()) {
			return fmt.Errorf("line %d, %q, is not where it should be in:\n%s", matched+1, line, output)
		}
		matched++
	}
	if !regexp.MustCompile(pattern.String() + `\n*\z`).MatchString(actual.String()) {
		return fmt.Errorf("more is printed than the %d lines on the page:\n%s", matched, output)
	}
	return nil
}

// linePattern returns a regular expression that matches a line on a page, which may contain
// wildcards.
func linePattern(line string) string {
	if strings.TrimSpace(line) == wildcard {
		return `(?:[^\n]*\n)*?`
	}
	parts := strings.Split(line, wildcard)
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString(`[^\n]*`)
		}
		b.WriteString(regexp.QuoteMeta(normalizePart(part, i == 0, i == len(parts)-1)))
	}
	return b.String() + `[ ]*\n`
}

// normalizePart normalizes the part of a line between two wildcards. first and last are true
// at the start and the end of the line, where blanks are removed.
func normalizePart(part string, first, last bool) string {
	normalized := normalize(part)
	if !first && strings.HasPrefix(normalized, " ") {
		normalized = " " + strings.TrimLeft(normalized, " ")
	}
	if !last && strings.HasSuffix(part, " ") && !strings.HasSuffix(normalized, " ") {
		normalized += " "
	}
	return normalized
}
