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
	"github.com/ordered-helm/helm/internal/hookorder"
)

// sortManifests splits the documents of rendered templates into hooks and other resources,
// both in Helm's install order. Unlike Helm 3, it accepts hooks for the events crd-install
// and test-failure of Helm 2. These are called legacy events.
func sortManifests(files map[string]string) ([]*release.Hook, []releaseutil.Manifest, error) {
	legacy := legacyHooks{}
	files, err := legacy.replaceIn(files)
	if err != nil {
		return nil, nil, err
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, nil, err
	}
	for _, h := range hooks {
		if original, ok := legacy[h.Manifest]; ok {
			h.Manifest, h.Events = original.document, original.events
		}
	}
	return hooks, manifests, nil
}

// legacyHooks maps placeholders to the hooks with legacy events that they replace. Helm's
// SortManifests would drop these hooks, so it gets placeholders instead: documents of the same
// kind and name, but with the event "test".
type legacyHooks map[string]legacyHook

// legacyHook is a hook with a legacy event: its document in the manifest, and its events.
type legacyHook struct {
	document string
	events   []release.HookEvent
}

// replaceIn returns files with a placeholder instead of each hook that has a legacy event.
// It adds these hooks to l.
func (l legacyHooks) replaceIn(files map[string]string) (map[string]string, error) {
	changed := maps.Clone(files)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !mayBeLegacyHook(files[name]) {
			continue
		}
		content, err := rewriteDocuments(files[name], l.replace)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		changed[name] = content
	}
	return changed, nil
}

// mayBeLegacyHook reports whether a text could contain a hook with a legacy event, or with
// the annotation HookDeleteTimeout, which must be checked. If it returns false, as for
// almost all documents, the text need not be parsed.
func mayBeLegacyHook(text string) bool {
	if !strings.Contains(text, release.HookAnnotation) {
		return false
	}
	lower := strings.ToLower(text)
	return strings.Contains(text, annotation.HookDeleteTimeout) ||
		strings.Contains(lower, string(hookorder.EventCRDInstall)) || strings.Contains(lower, string(hookorder.EventTestFailure))
}

// replace returns a placeholder for doc and adds doc to l, if doc is a hook with a legacy
// event. Any other document is returned unchanged, even if Helm drops or rejects it later.
// It returns an error if the annotations of the hook are invalid.
func (l legacyHooks) replace(doc string) (string, error) {
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
	placeholder, err := newPlaceholder(&head, len(l))
	if err != nil {
		return "", fmt.Errorf("%s/%s: %w", head.Kind, head.Metadata.Name, err)
	}
	l[placeholder] = legacyHook{document: doc, events: events}
	return placeholder, nil
}

// newPlaceholder returns the placeholder of a hook, whose header is head. number makes the
// placeholder unique.
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

// escapeForYAML escapes those characters of a JSON text that YAML would reject or change.
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
