// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
)

// subject consists of sections of the reference, and of the tests that check what they say.
type subject struct {
	name string
	// sections are the headings between which the sentences are.
	sections [][2]string
	// tests are the directories whose tests count.
	tests []string
	// namesSuffice is whether a row of a table counts as tested if tests use the names in its first cell.
	namesSuffice bool
	// noPromises contains parts of the sentences that no test can check, because they explain something or give
	// advice.
	noPromises []string
}

// subjects are those of which every sentence must be tested.
var subjects = []subject{
	{
		name:         "the controller and the correction of drift",
		sections:     [][2]string{{"## HelmRequest", "## The version"}, {"### Correcting drift", "## Events"}},
		tests:        []string{"cmd/helm-controller", "test/e2e/controller", "test/e2e/drift", "internal/drift"},
		namesSuffice: true,
		noPromises: []string{
			"The page about the controller explains how to install and use it",
			"This section is the reference",
			"These can change that",
			"It then",
			"These fields can be added",
			"A version of a chart should never change",
			"Reading an index takes about fifty times its size in memory",
			"A proxy has to take care of that itself, if it resolves names",
			"Put passwords into a Secret, and name it in valuesFrom",
			"A program such as a controller calls it from time to time",
			"package in a Secret or ConfigMap | about 1 MiB, the limit of Kubernetes",
		},
	},
	{
		name:     "order files",
		sections: [][2]string{{"## Order files", "## The graph"}},
		tests: []string{
			"test/e2e/orderfiles", "test/e2e/umbrella", "internal/chartorder", "internal/lint", "internal/orderfile", "internal/resourceorder", "internal/sequencer", "test/docs",
		},
		noPromises: []string{
			"The rules under charts are about charts",
		},
	},
	{
		name:     "saved plans",
		sections: [][2]string{{"### Saved plans", "## helm drift"}},
		tests:    []string{"test/e2e/savedplan", "internal/savedplan", "cmd/helm"},
		noPromises: []string{
			"Permissions that scripts have are not part of the plan",
			"In the SDK, Upgrade.PlanUpgrade and Install.PlanInstall return the plan",
			"The errors are *PlanChangedError",
		},
	},
	{
		name:     "upgrading only if something changed",
		sections: [][2]string{{"### Upgrading only if something changed", "## CRDs in crds/ directories"}},
		tests:    []string{"test/e2e/drift", "internal/revisiondiff"},
		noPromises: []string{
			"In the SDK, this is the field OnlyIfChanged",
		},
	},
	{
		name:     "external dependencies",
		sections: [][2]string{{"### External dependencies", "## Readiness"}},
		tests: []string{
			"test/e2e/external", "internal/annotation", "internal/declaration", "internal/externalneed", "internal/externalwait", "internal/lint", "internal/releasestatus", "internal/sequencer",
		},
	},
	{
		name:     "resources that take part in some operations",
		sections: [][2]string{{"## Resources that take part in some operations", "## Hooks"}},
		tests:    []string{"test/e2e/deployon", "test/e2e/drift", "internal/sequencer"},
	},
	{
		name:     "hooks of a chart in its place in the order",
		sections: [][2]string{{"### Hooks of a chart in its place in the order", "## Install"}},
		tests:    []string{"test/e2e/hookscope", "test/e2e/orderfiles", "cmd/helm", "internal/chartorder", "internal/latehooks", "internal/lint", "internal/sequencer"},
	},
	{
		name:         "helm drift and rules for ignoring drift",
		sections:     [][2]string{{"## helm drift", "## Order in command output"}},
		tests:        []string{"test/e2e/drift", "internal/drift", "internal/driftprinter", "internal/fielddiff", "internal/ignorefile", "cmd/helm"},
		namesSuffice: true,
	},
	{
		name:     "CRDs in crds/ directories",
		sections: [][2]string{{"## CRDs in crds/ directories", "## Rollback"}},
		tests:    []string{"test/e2e/definitions", "internal/crds"},
		noPromises: []string{
			"Stock Helm creates the CustomResourceDefinitions (CRDs) in the crds/ directory of a chart",
		},
	},
	{
		name:     "objects that cannot be changed in place",
		sections: [][2]string{{"## Objects that cannot be changed in place", "## Uninstall"}},
		tests:    []string{"test/e2e/recreate", "internal/recreation"},
		noPromises: []string{
			"The API server does not change some fields",
		},
	},
}

// sentences returns the sentences in the sections of a subject.
func (s *subject) sentences(t *testing.T) []sentence {
	t.Helper()
	var all []sentence
	for _, section := range s.sections {
		all = append(all, sentences(between(t, section[0], section[1]))...)
	}
	return all
}

// TestSentencesAreTested checks that a test exists for each sentence of the reference about some subjects. The comment
// of the test quotes a part of the sentence in a list.
func TestSentencesAreTested(t *testing.T) {
	t.Parallel()
	var everything strings.Builder
	for _, s := range subjects {
		for _, sentence := range s.sentences(t) {
			everything.WriteString(sentence.text + "\n")
		}
	}
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.check(t, everything.String())
		})
	}
}

// check checks the sentences of a subject. everything contains the sentences of all subjects: a test can be about
// several of them.
func (s *subject) check(t *testing.T, everything string) {
	t.Helper()
	tests := testFiles(t, s.tests...)
	quotes := slices.Clone(s.noPromises)
	for _, m := range regexp.MustCompile(`(?m)^//   - "(.+)"$`).FindAllStringSubmatch(tests, -1) {
		quotes = append(quotes, m[1])
	}
	for _, quote := range quotes {
		if !strings.Contains(everything, quote) {
			t.Errorf("docs/reference.md does not contain this part of a sentence any more: %s", quote)
		}
	}
	names := strings.ToLower(tests)
	isUsed := func(name string) bool {
		name, _, _ = strings.Cut(name, ":")
		return strings.Contains(names, strings.ToLower(name))
	}
	for _, sentence := range s.sentences(t) {
		if s.namesSuffice && len(sentence.names) > 0 && !slices.ContainsFunc(sentence.names, func(name string) bool { return !isUsed(name) }) {
			continue
		}
		if !slices.ContainsFunc(quotes, func(quote string) bool { return strings.Contains(sentence.text, quote) }) {
			t.Errorf("no comment of a test quotes a part of this sentence of docs/reference.md: %s", sentence.text)
		}
	}
}

// testFiles returns the text of all tests in directories of the repository.
func testFiles(t *testing.T, dirs ...string) string {
	t.Helper()
	var text strings.Builder
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(binaries.Root(t), dir), func(file string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, "_test.go") {
				return err
			}
			content, err := os.ReadFile(file)
			text.Write(content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}

// between returns the text of the reference from one heading to another one.
func between(t *testing.T, from, to string) string {
	t.Helper()
	_, text, found := strings.Cut(read(t, "docs/reference.md"), "\n"+from+"\n")
	text, _, alsoFound := strings.Cut(text, "\n"+to+"\n")
	if !found || !alsoFound {
		t.Fatalf("docs/reference.md has no headings %q and %q", from, to)
	}
	return text
}

// sentence is a sentence, or a row of a table, without markup.
type sentence struct {
	text string
	// names are the names in the first cell of a row.
	names []string
}

// sentences splits a text into sentences. It omits blocks of code and headings.
func sentences(text string) []sentence {
	var all []sentence
	for paragraph := range strings.SplitSeq(regexp.MustCompile("(?s)```.*?\n```|<!--.*?-->").ReplaceAllString(text, "\n"), "\n\n") {
		paragraph = strings.TrimSpace(paragraph)
		switch {
		case paragraph == "" || strings.HasPrefix(paragraph, "#"):
		case strings.HasPrefix(paragraph, "|"):
			all = append(all, rows(paragraph)...)
		default:
			for _, item := range regexp.MustCompile(`(?m)^(-|\d+\.) `).Split(paragraph, -1) {
				all = append(all, split(item)...)
			}
		}
	}
	return all
}

// rows returns the rows of a table, without its head.
func rows(table string) []sentence {
	var all []sentence
	for _, line := range strings.Split(table, "\n")[2:] {
		first, _, _ := strings.Cut(strings.Trim(line, "| "), " | ")
		row := sentence{text: plain(strings.Trim(line, "| "))}
		if strings.HasPrefix(first, "`") && strings.HasSuffix(first, "`") {
			row.names = quoted(first)
		}
		all = append(all, row)
	}
	return all
}

// split splits a paragraph.
func split(paragraph string) []sentence {
	marked := regexp.MustCompile("([.:])\\s+([A-Z`])").ReplaceAllString(paragraph, "$1\x00$2")
	var all []sentence
	for part := range strings.SplitSeq(marked, "\x00") {
		if text := plain(part); text != "" {
			all = append(all, sentence{text: text})
		}
	}
	return all
}

// plain removes the markup from a text.
func plain(text string) string {
	text = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(strings.Join(strings.Fields(text), " "), "$1")
	return strings.NewReplacer("**", "", "`", "").Replace(text)
}

// TestSentences checks how a text is split into sentences.
func TestSentences(t *testing.T) {
	t.Parallel()
	text := "One, and [two](a.md#b). `Three` is\n**three**. These:\n\n- four. Five: it is;\n- six\n\n1. Seven.\n2. Eight\n   and nine.\n\n```yaml\na: b. C\n```\n\n" +
		"| field | meaning |\n| --- | --- |\n| `a`, `b` | yes. No |\n| when `c` | d |\n\n### Heading\n\n<!-- not run -->\n```go\n// A. B\n```\n"
	var got []string
	for _, s := range sentences(text) {
		got = append(got, strings.Join(append(s.names, s.text), "/"))
	}
	want := []string{"One, and two.", "Three is three.", "These:", "four.", "Five: it is;", "six", "Seven.", "Eight and nine.", "a/b/a, b | yes. No", "when c | d"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
