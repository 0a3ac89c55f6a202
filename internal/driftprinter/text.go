// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package driftprinter prints in which objects releases differ from what they declare
// (docs/reference.md, "helm drift"). Package drift finds this out.
package driftprinter

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ordered-helm/helm/internal/drift"
	"github.com/ordered-helm/helm/internal/terminalsafe"
)

// maxValue limits how many characters of a value are printed.
const maxValue = 80

// Text writes reports to w as text for people.
func Text(w io.Writer, reports []*drift.Report) error {
	out := bufio.NewWriter(terminalsafe.NewWriter(w))
	for i, r := range reports {
		if i > 0 && (len(r.Objects) > 0 || len(reports[i-1].Objects) > 0) {
			fmt.Fprintln(out)
		}
		writeReport(out, r)
	}
	return out.Flush()
}

func writeReport(out io.Writer, r *drift.Report) {
	fmt.Fprintf(out, "release %s in namespace %s", r.Release, r.Namespace)
	if r.Revision > 0 {
		fmt.Fprintf(out, ", revision %d", r.Revision)
	}
	fmt.Fprintf(out, ": %s\n", summary(r))
	for _, o := range r.Objects {
		writeObject(out, o)
	}
}

// summary returns how many objects a report has with each state, as in "1 changed, 4 unchanged".
func summary(r *drift.Report) string {
	if r.Error != "" {
		return "not compared"
	}
	var parts []string
	if len(r.Objects) == 0 {
		parts = append(parts, "no drift")
	}
	for _, state := range []drift.State{drift.Changed, drift.Missing, drift.Unknown} {
		if n := r.Count(state); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("%d unchanged", r.Unchanged)), ", ")
}

func writeObject(out io.Writer, o drift.Object) {
	sign := map[drift.State]string{drift.Changed: "~", drift.Missing: "-", drift.Unknown: "?"}[o.State]
	fmt.Fprintf(out, "\n  %s %s %s", sign, o.State, o)
	if o.Namespace != "" {
		fmt.Fprintf(out, " in %s", o.Namespace)
	}
	if o.Note != "" {
		fmt.Fprintf(out, " (%s)", o.Note)
	}
	fmt.Fprintln(out)
	for _, f := range o.Fields {
		fmt.Fprintf(out, "      %s\n", Field(f))
	}
}

// Field returns what differs in a field and who has changed it, as in
// "spec.replicas: declared 3, is 5 (kubectl-edit, 2026-11-27 20:51 UTC)".
func Field(f drift.Field) string { return f.Path + ": " + values(f) + changedBy(f) }

// values returns the values of a field, as in "declared 3, is 5".
func values(f drift.Field) string {
	switch {
	case f.Live == nil:
		return "declared " + value(f.Declared) + ", is missing"
	case f.Declared == nil:
		return "not declared, is " + value(f.Live)
	}
	return "declared " + value(f.Declared) + ", is " + value(f.Live)
}

// value returns a value as text: as it is if it is a simple text, and otherwise as JSON.
func value(v any) string {
	text, isText := v.(string)
	switch {
	case isText && isSimple(text):
	case isText:
		text = strconv.Quote(text)
	default:
		encoded, err := json.Marshal(v)
		if err != nil {
			encoded = []byte(fmt.Sprint(v))
		}
		text = string(encoded)
	}
	if runes := []rune(text); len(runes) > maxValue {
		return string(runes[:maxValue]) + "…"
	}
	return text
}

// isSimple reports whether a text needs no quotes.
func isSimple(text string) bool {
	return text != "" && text == strings.TrimSpace(text) && strings.IndexFunc(text, func(r rune) bool {
		return r == '"' || r == ',' || !unicode.IsPrint(r)
	}) < 0
}

// changedBy returns who has changed a field and when, as in " (kubectl-edit, 2026-11-27 20:51 UTC)";
// "" if this is not known.
func changedBy(f drift.Field) string {
	switch {
	case f.Manager == "":
		return ""
	case f.Time == nil:
		return " (" + f.Manager + ")"
	}
	return " (" + f.Manager + ", " + f.Time.UTC().Format("2006-01-02 15:04 ") + time.UTC.String() + ")"
}
