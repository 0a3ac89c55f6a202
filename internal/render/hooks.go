// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/hookrunner"
)

// sortManifests splits the documents of all files into hooks and other resources, each in
// Helm's install order. It supports hooks of legacy events.
func sortManifests(files map[string]string) ([]*release.Hook, []releaseutil.Manifest, error) {
	s := placeholders{hooks: map[string]legacyHook{}}
	files, err := s.replace(files)
	if err != nil {
		return nil, nil, err
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, nil, err
	}
	for _, h := range hooks {
		if older, ok := s.hooks[h.Manifest]; ok {
			h.Manifest, h.Events = older.document, older.events
		}
	}
	return hooks, manifests, nil
}

// placeholders replace hooks of legacy events, which Helm's sorting would drop. Helm
// turns each placeholder into the same hook, except for the event.
type placeholders struct {
	// hooks has the original hooks by their placeholder.
	hooks map[string]legacyHook
}

type legacyHook struct {
	document string
	events   []release.HookEvent
}

// replace replaces the hooks of legacy events in files.
func (s *placeholders) replace(files map[string]string) (map[string]string, error) {
	changed := maps.Clone(files)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !mayBeLegacyHook(files[name]) {
			continue
		}
		content, err := rewrite(files[name], s.document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		changed[name] = content
	}
	return changed, nil
}

// mayBeLegacyHook reports whether a text may have a hook of a legacy event. This avoids
// parsing almost all documents.
func mayBeLegacyHook(text string) bool {
	if !strings.Contains(text, release.HookAnnotation) {
		return false
	}
	if strings.Contains(text, annotation.HookDeleteTimeout) {
		return true
	}
	text = strings.ToLower(text)
	return strings.Contains(text, string(hookrunner.EventCRDInstall)) ||
		strings.Contains(text, string(hookrunner.EventTestFailure))
}

// document returns the placeholder for a hook of legacy events. Other documents are
// unchanged, including those that Helm drops or rejects.
func (s *placeholders) document(doc string) (string, error) {
	if !mayBeLegacyHook(doc) {
		return doc, nil
	}
	var head releaseutil.SimpleHead
	if err := yaml.Unmarshal([]byte(doc), &head); err != nil || head.Metadata == nil {
		return doc, nil //nolint:nilerr // Helm's parser rejects it
	}
	events, known := hookEvents(head.Metadata.Annotations[release.HookAnnotation])
	if !known {
		return doc, nil
	}
	if err := checkHook(head.Kind, head.Metadata.Annotations, events); err != nil {
		return "", fmt.Errorf("%s/%s: %w", head.Kind, head.Metadata.Name, err)
	}
	if !slices.ContainsFunc(events, isLegacyEvent) {
		return doc, nil
	}
	standIn, err := newPlaceholder(&head, len(s.hooks))
	if err != nil {
		return "", fmt.Errorf("%s/%s: %w", head.Kind, head.Metadata.Name, err)
	}
	s.hooks[standIn] = legacyHook{document: doc, events: events}
	return standIn, nil
}

// hookEvents returns the events of a hook. Known is false if any of them is unknown,
// because Helm drops such a hook.
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

// HookEvents returns the names of all events.
func HookEvents() []string {
	var names []string
	for _, event := range []release.HookEvent{
		release.HookPreInstall, release.HookPostInstall, release.HookPreUpgrade, release.HookPostUpgrade,
		release.HookPreRollback, release.HookPostRollback, release.HookPreDelete, release.HookPostDelete,
		release.HookTest, testSuccess, hookrunner.EventTestFailure, hookrunner.EventCRDInstall,
	} {
		names = append(names, string(event))
	}
	return names
}

// testSuccess is the legacy name of HookTest.
const testSuccess release.HookEvent = "test-success"

func hookEvent(name string) (event release.HookEvent, known bool) {
	if event = release.HookEvent(name); event == testSuccess {
		event = release.HookTest
	}
	return event, slices.Contains(HookEvents(), name)
}

// isLegacyEvent reports whether Helm 3 does not support an event.
func isLegacyEvent(event release.HookEvent) bool {
	return event == hookrunner.EventCRDInstall || event == hookrunner.EventTestFailure
}

// CheckHook reports whether a document with these annotations is a hook, and returns its
// events. It returns an error for invalid annotations of a hook. A hook with an unknown
// event has no events, because Helm drops it.
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

// checkHook rejects invalid annotations of a hook.
func checkHook(kind string, annotations map[string]string, events []release.HookEvent) error {
	value := annotations[release.HookAnnotation]
	if slices.Contains(events, hookrunner.EventCRDInstall) && kind != "CustomResourceDefinition" {
		return &annotation.ValueError{
			Key: release.HookAnnotation, Value: value,
			Reason: "crd-install is only for a CustomResourceDefinition: use pre-install for other kinds",
		}
	}
	if slices.Contains(events, hookrunner.EventTestFailure) && slices.Contains(events, release.HookTest) {
		return &annotation.ValueError{
			Key: release.HookAnnotation, Value: value,
			Reason: "a test cannot be expected to both succeed and fail: use either test or test-failure, or two tests",
		}
	}
	_, _, err := annotation.ReadHookDeleteTimeout(annotations)
	return err
}

// newPlaceholder returns the placeholder of a hook. The number makes each placeholder
// unique.
func newPlaceholder(head *releaseutil.SimpleHead, number int) (string, error) {
	annotations := map[string]string{}
	for key, value := range head.Metadata.Annotations {
		if strings.HasPrefix(key, release.HookAnnotation) {
			annotations[key] = value
		}
	}
	annotations[release.HookAnnotation] = string(release.HookTest)
	head.Metadata.Annotations = annotations
	text, err := json.Marshal(struct {
		*releaseutil.SimpleHead
		StandIn int `json:"standIn"`
	}{head, number})
	if err != nil {
		return "", fmt.Errorf("create a placeholder: %w", err)
	}
	return escapeForYAML(string(text)), nil
}

// escapeForYAML escapes characters in JSON that YAML rejects or changes.
func escapeForYAML(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < '\x7f' {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	return b.String()
}
