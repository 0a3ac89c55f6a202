// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle calls the handlers of events, which are certain points of an operation
// (docs/reference.md, "Lifecycle events").
package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/similar"
)

// Event is the name of a point of an operation.
type Event string

// The events, in the order in which an operation has them. Those of rendering and validation come
// before the operation is recorded in the history of the release. PreInstall and its like come after
// that, and before the hooks of the same name. If an operation fails and is undone because it is
// atomic, undoing has no events.
const (
	// ChartLoaded comes when the chart is loaded.
	ChartLoaded Event = "chart-loaded"
	// PreRender comes before templates are rendered. Handlers can change the values that the
	// templates see.
	PreRender Event = "pre-render"
	// PostRender comes when templates are rendered. Handlers can change the manifest.
	PostRender Event = "post-render"
	// PreValidate and PostValidate come before and after the manifest is checked.
	PreValidate  Event = "pre-validate"
	PostValidate Event = "post-validate"

	PreInstall   Event = "pre-install"
	PostInstall  Event = "post-install"
	PreUpgrade   Event = "pre-upgrade"
	PostUpgrade  Event = "post-upgrade"
	PreRollback  Event = "pre-rollback"
	PostRollback Event = "post-rollback"
	PreDelete    Event = "pre-delete"
	PostDelete   Event = "post-delete"

	// PreList and PostList come before and after releases are listed.
	PreList  Event = "pre-list"
	PostList Event = "post-list"

	// Wait comes again and again while an operation waits, until all handlers are done.
	Wait Event = "wait"
	// Ready comes once, when everything is ready for which the operation waits.
	Ready Event = "ready"
)

// Events returns all events.
func Events() []Event {
	return []Event{
		ChartLoaded, PreRender, PostRender, PreValidate, PostValidate, PreInstall, PostInstall, PreUpgrade, PostUpgrade,
		PreRollback, PostRollback, PreDelete, PostDelete, PreList, PostList, Wait, Ready,
	}
}

// UnknownEventError reports the name of an event that does not exist.
type UnknownEventError struct{ Name string }

func (e *UnknownEventError) Error() string {
	names := make([]string, 0, len(Events()))
	for _, event := range Events() {
		names = append(names, string(event))
	}
	if nearest := similar.Nearest(e.Name, names); nearest != "" {
		return fmt.Sprintf("there is no event %q: did you mean %q?", e.Name, nearest)
	}
	return fmt.Sprintf("there is no event %q: must be one of %s", e.Name, strings.Join(names, ", "))
}

// ParseEvent returns the event with a name. If there is none, the error is an *UnknownEventError.
func ParseEvent(name string) (Event, error) {
	if event := Event(name); slices.Contains(Events(), event) {
		return event, nil
	}
	return "", &UnknownEventError{name}
}
