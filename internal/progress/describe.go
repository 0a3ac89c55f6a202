// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ordered-helm/helm/internal/event"
)

// describe puts an event into words: what it is about, what happened to it, and
// why. Of some events there is nothing to tell.
func describe(e event.Event) string {
	switch e.Type {
	case event.Started, event.HookLog: // of these, only other displays tell
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
	if e.Namespace != "" {
		words = append(words, "in namespace "+e.Namespace)
	}
	why := messageAndError(e)
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

// finished is said of an operation that did something in order. That one failed is
// told, at more length, by whoever asked for it.
func finished(e event.Event) string {
	if e.Err != nil || !e.Operation.Ordered {
		return ""
	}
	return e.Operation.Name + " of release " + e.Operation.Release + " finished"
}

// isSelfContained tells whether the message of an event says what happened.
func isSelfContained(t event.Type) bool {
	switch t {
	case event.ResourceChanged, event.Waiting, event.Planned, event.Removing:
		return true
	}
	return false
}

// verb is what happened, as the end of a sentence.
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
	case event.HookDone:
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

// messageAndError joins an event's message and error.
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

// oneLine folds line breaks and other control characters, which come from the
// cluster and must not move the cursor of a terminal, into single spaces.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}

// cut shortens a line that would fill the screen.
func cut(line string) string {
	const most = 1000 // characters
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	return string([]rune(line)[:most-1]) + "…"
}
