// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
	"unicode/utf8"
)

// The rendered output does not show where in a template a key comes from, because of loops,
// conditions and helpers. Therefore, if there are findings, the chart is rendered again
// with marks: a number after each relevant key in the templates. The number remains in the
// output and leads to the position of the key. If the new output differs in anything except
// marks, the positions are unknown.

// markable matches the YAML keys that Mark marks: "kind", "runHooksInParallel", and all keys
// that contain a slash, such as those of annotations.
var markable = regexp.MustCompile(`(?:^|[\s{,"'])([A-Za-z0-9._-]+/[A-Za-z0-9/._-]+|kind|runHooksInParallel)["']?[ \t]*:`)

var mark = regexp.MustCompile(`-ohmark([0-9]+)x`)

// Mark returns the template text with a mark after each key that matches markable, and
// appends the positions of these keys to positions. The number in a mark is the index of the
// position. file is the path of the template. Columns are counted in characters.
func Mark(file string, text []byte, positions *[]Position) []byte {
	if bytes.Contains(text, []byte("-ohmark")) {
		return text
	}
	var marked bytes.Buffer
	done, line, lineStart := 0, 1, 0
	for _, span := range textSpans(text) {
		for _, m := range markable.FindAllSubmatchIndex(text[span[0]:span[1]], -1) {
			start, end := span[0]+m[2], span[0]+m[3]
			before := text[done:start]
			line += bytes.Count(before, []byte("\n"))
			if last := bytes.LastIndexByte(before, '\n'); last >= 0 {
				lineStart = done + last + 1
			}
			marked.Write(before)
			marked.Write(text[start:end])
			fmt.Fprintf(&marked, "-ohmark%dx", len(*positions))
			done = end
			*positions = append(*positions, Position{File: file, Line: line, Column: utf8.RuneCount(text[lineStart:start]) + 1})
		}
	}
	marked.Write(text[done:])
	return marked.Bytes()
}

// textSpans returns the start and end offsets of the parts of a template that are outside of
// {{ actions }}, in order. If the template cannot be parsed, it returns none.
func textSpans(text []byte) [][2]int {
	tree, trees := parse.New("template"), map[string]*parse.Tree{}
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(string(text), "", "", trees); err != nil {
		return nil
	}
	var spans [][2]int
	var walk func(list *parse.ListNode)
	branches := func(b *parse.BranchNode) {
		walk(b.List)
		walk(b.ElseList)
	}
	walk = func(list *parse.ListNode) {
		if list == nil {
			return
		}
		for _, node := range list.Nodes {
			switch node := node.(type) {
			case *parse.TextNode:
				spans = append(spans, [2]int{int(node.Pos), int(node.Pos) + len(node.Text)})
			case *parse.IfNode:
				branches(&node.BranchNode)
			case *parse.RangeNode:
				branches(&node.BranchNode)
			case *parse.WithNode:
				branches(&node.BranchNode)
			}
		}
	}
	for _, t := range trees { // the template and the templates that it defines
		walk(t.Root)
	}
	slices.SortFunc(spans, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	return spans
}

// SameButForMarks reports whether the document marked, which was rendered with marks, equals
// document, which was rendered without them, except for the marks. Because templates can
// produce random values, it does not compare lines without marks, nor the text after the
// last mark of a line.
func SameButForMarks(marked, document string) bool {
	if mark.ReplaceAllString(marked, "") == document {
		return true
	}
	with, without := strings.Split(marked, "\n"), strings.Split(document, "\n")
	if len(with) != len(without) {
		return false
	}
	for i := range with {
		marks := mark.FindAllStringIndex(with[i], -1)
		if len(marks) == 0 {
			continue
		}
		if before := with[i][:marks[len(marks)-1][1]]; !strings.HasPrefix(without[i], mark.ReplaceAllString(before, "")) {
			return false
		}
	}
	return true
}

// CutMark returns a key without its mark, and the number in the mark. If the key has no
// mark, the number is -1.
func CutMark(key string) (plain string, number int) {
	at := mark.FindStringSubmatchIndex(key)
	if at == nil {
		return key, -1
	}
	number, err := strconv.Atoi(key[at[2]:at[3]])
	if err != nil {
		return key, -1
	}
	return key[:at[0]] + key[at[1]:], number
}
