// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ordered-helm/helm/internal/event"
)

// describe returns the line that mode Plain prints for an event: the node, resource or hook,
// what happened to it, and why. It returns "" for events that mode Plain does not show.
func describe(e event.Event) string {
	switch e.Type {
	case event.Started, event.HookLog: // only the other modes show these
		return ""
	case event.Finished:
		return finished(e)
	}
	words := make([]string, 0, 5)
	for _, subject := range []string{e.Node, e.Resource} {
		if subject != "" {
			words = append(words, subject)
		}
	}
	if e.Hook != "" {
		words = append(words, e.HookEvent+" hook "+e.Hook)
	}
	if e.Type == event.HandlerDone {
		words = append(words, e.HandlerEvent+" handler of "+event.HandlerOwner(e.Chart))
	}
	if e.Namespace != "" {
		words = append(words, "in namespace "+e.Namespace)
	}
	why := messageAndError(e)
	if e.Hook != "" {
		why = strings.TrimPrefix(why, e.Hook+" failed: ") // the line already says this
	}
	if e.Cause != "" {
		why += " - " + e.Cause
	}
	if why == "" || !isSelfContained(e.Type) {
		words = append(words, verb(e))
	}
	text := strings.Join(words, " ")
	switch {
	case why == "":
	case text == "":
		text = why
	default:
		text += ": " + why
	}
	return oneLine(text)
}

// finished returns the line for the end of a successful ordered operation. It returns "" for
// an unordered operation, and for a failed one, whose error the command prints.
func finished(e event.Event) string {
	if e.Err != nil || !e.Operation.Ordered {
		return ""
	}
	return e.Operation.Name + " of release " + e.Operation.Release + " finished"
}

// isSelfContained reports whether the messages of events of type t already say what happened,
// so that describe need not add a verb.
func isSelfContained(t event.Type) bool {
	switch t {
	case event.ResourceChanged, event.Waiting, event.HandlerRunning, event.Planned, event.Removing,
		event.CRDsStarted, event.CRDApplied, event.CRDsDone:
		return true
	}
	return false
}

// verb returns the word that describe prints after the name of the node, resource or hook to
// say what happened to it, such as "ready".
func verb(e event.Event) string {
	switch e.Type {
	case event.NodeStarted, event.HookStarted:
		return "started"
	case event.NodeApplied:
		return "applied"
	case event.NodeReady:
		return "ready"
	case event.NodeFailed:
		return "failed"
	case event.NodeDeleting:
		return "deleting"
	case event.NodeDeleted:
		return "deleted"
	case event.ResourceChanged:
		return "changed"
	case event.HookDone, event.HandlerDone:
		if e.Err != nil {
			return "failed"
		}
		return "done"
	case event.Waiting:
		return "waiting"
	default:
		return string(e.Type)
	}
}

// messageAndError joins the message and the error of an event with a colon. If the error
// contains the message, it returns only the error.
func messageAndError(e event.Event) string {
	switch {
	case e.Err == nil:
		return e.Message
	case e.Message == "" || strings.Contains(e.Err.Error(), e.Message):
		return e.Err.Error()
	default:
		return e.Message + ": " + e.Err.Error()
	}
}

// oneLine replaces each sequence of white space and control characters with one space,
// because text from the cluster must not move the cursor of a terminal.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}

// cut shortens a line to at most 1,000 characters.
func cut(line string) string {
	const maxLength = 1000
	if utf8.RuneCountInString(line) <= maxLength {
		return line
	}
	return string([]rune(line)[:maxLength-1]) + "…"
}
