// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/hookorder"
)

// hookEvents returns the events that the value of the annotation helm.sh/hook names. known
// is false if it names an unknown one. Helm drops a hook with an unknown event.
func hookEvents(value string) (events []release.HookEvent, known bool) {
	for name := range strings.SplitSeq(value, ",") {
		event, ok := hookEvent(strings.ToLower(strings.TrimSpace(name)))
		if !ok {
			return nil, false
		}
		events = append(events, event)
	}
	return events, true
}

// HookEvents returns the names of all hook events, including those of Helm 2.
func HookEvents() []string {
	var names []string
	for _, event := range append(hookorder.HelmEvents(), testSuccess, hookorder.EventTestFailure, hookorder.EventCRDInstall) {
		names = append(names, string(event))
	}
	return names
}

// testSuccess is the name of the event test in Helm 2.
const testSuccess release.HookEvent = "test-success"

// hookEvent returns the event with the given name, and reports whether this is a known
// event.
func hookEvent(name string) (event release.HookEvent, known bool) {
	if event = release.HookEvent(name); event == testSuccess {
		event = release.HookTest
	}
	return event, slices.Contains(HookEvents(), name)
}

// isLegacyEvent reports whether event exists only in Helm 2.
func isLegacyEvent(event release.HookEvent) bool {
	return event == hookorder.EventCRDInstall || event == hookorder.EventTestFailure
}

// CheckHook checks the annotations of a document of the given kind. hook reports whether
// the document is a hook. events contains the events of the hook; it is empty if any of
// them is unknown, because Helm then drops the hook. err is not nil if an annotation of the
// hook is invalid.
func CheckHook(kind string, annotations map[string]string) (hook bool, events []release.HookEvent, err error) {
	value, hook := annotations[release.HookAnnotation]
	if !hook {
		return false, nil, nil
	}
	events, known := hookEvents(value)
	if !known {
		return true, nil, nil
	}
	return true, events, checkHook(kind, annotations, events)
}

// checkHook returns an error if the annotations of a hook of the given kind and events are
// invalid.
func checkHook(kind string, annotations map[string]string, events []release.HookEvent) error {
	value := annotations[release.HookAnnotation]
	if slices.Contains(events, hookorder.EventCRDInstall) && kind != "CustomResourceDefinition" {
		return &annotation.ValueError{
			Key: release.HookAnnotation, Value: value,
			Reason: "crd-install is only for a CustomResourceDefinition: use pre-install for other kinds",
		}
	}
	if slices.Contains(events, hookorder.EventTestFailure) && slices.Contains(events, release.HookTest) {
		return &annotation.ValueError{
			Key: release.HookAnnotation, Value: value,
			Reason: "a test cannot be expected to both succeed and fail: use either test or test-failure, or two tests",
		}
	}
	return annotation.CheckHook(annotations)
}
