// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/kind"
)

// sortDocuments splits the documents of rendered templates into hooks and other documents,
// both in Helm's install order, as Helm's SortManifests does. Unlike Helm 3, it accepts hooks
// for the events crd-install and test-failure of Helm 2. These are called legacy events.
func sortDocuments(docs []templateDocument) ([]*release.Hook, []File, error) {
	var hooks []*release.Hook
	files := make([]File, 0, len(docs))
	for i := range docs {
		d := &docs[i]
		if isPartial(d.file) {
			continue
		}
		head := d.head
		if !d.headKnown || head.isHook {
			hook, byHelm, err := sortByHelm(d)
			if err != nil {
				return nil, nil, err
			}
			if hook != nil {
				hooks = append(hooks, hook)
			}
			if byHelm == nil {
				continue
			}
			head = documentHead{kind: byHelm.Kind, version: byHelm.Version}
		}
		files = append(files, d.asFile(head))
	}
	slices.SortStableFunc(hooks, func(x, y *release.Hook) int {
		return compareKinds(kind.InstallRank(x.Kind), kind.InstallRank(y.Kind), x.Kind, y.Kind)
	})
	slices.SortStableFunc(files, func(x, y File) int { return compareKinds(x.rank, y.rank, x.kind, y.kind) })
	return hooks, files, nil
}

// compareKinds orders kinds as Helm installs them, by their ranks (see kind.InstallRank).
// Kinds that Helm does not know have the same rank, and are sorted by name.
func compareKinds(xRank, yRank int, x, y string) int {
	return cmp.Or(cmp.Compare(xRank, yRank), strings.Compare(x, y))
}

// sortByHelm lets Helm decide whether d is a hook or another document. It returns either the
// hook or the head of the other document, or neither if Helm drops the document.
func sortByHelm(d *templateDocument) (*release.Hook, *releaseutil.SimpleHead, error) {
	text, legacyEvents, err := replaceLegacyHook(d.text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", d.file, err)
	}
	// With this first line, a separator at the start of the text does not separate anything.
	file := map[string]string{d.file: separator + "\n" + text}
	hooks, manifests, err := releaseutil.SortManifests(file, nil, releaseutil.InstallOrder)
	switch {
	case err != nil:
		return nil, nil, err
	case len(hooks) > 0:
		hook := hooks[0]
		hook.Manifest = d.text
		if legacyEvents != nil {
			hook.Events = legacyEvents
		}
		return hook, nil, nil
	case len(manifests) > 0:
		return nil, manifests[0].Head, nil
	}
	return nil, nil, nil
}

// mayBeLegacyHook reports whether a text could contain a hook with a legacy event, or with
// one of the annotations HookDeleteTimeout and HookPolicy, which must be checked. If it
// returns false, as for almost all documents, the text need not be parsed.
func mayBeLegacyHook(text string) bool {
	if !strings.Contains(text, release.HookAnnotation) {
		return false
	}
	lower := strings.ToLower(text)
	return strings.Contains(text, annotation.HookDeleteTimeout) || strings.Contains(text, annotation.HookPolicy) ||
		strings.Contains(lower, string(hookorder.EventCRDInstall)) || strings.Contains(lower, string(hookorder.EventTestFailure))
}

// replaceLegacyHook returns a placeholder for doc, and its events, if doc is a hook with a
// legacy event: a document of the same kind and name, but with the event "test". Helm's
// SortManifests would drop the hook itself. Any other document is returned unchanged, even if
// Helm drops or rejects it later. The error is not nil if the annotations of the hook are
// invalid.
func replaceLegacyHook(doc string) (placeholder string, events []release.HookEvent, err error) {
	if !mayBeLegacyHook(doc) {
		return doc, nil, nil
	}
	var head releaseutil.SimpleHead
	if err := yaml.Unmarshal([]byte(doc), &head); err != nil || head.Metadata == nil {
		return doc, nil, nil //nolint:nilerr // Helm's parser rejects it
	}
	events, known := hookEvents(head.Metadata.Annotations[release.HookAnnotation])
	if !known {
		return doc, nil, nil
	}
	if err := checkHook(head.Kind, head.Metadata.Annotations, events); err != nil {
		return "", nil, fmt.Errorf("%s/%s: %w", head.Kind, head.Metadata.Name, err)
	}
	if !slices.ContainsFunc(events, isLegacyEvent) {
		return doc, nil, nil
	}
	if placeholder, err = newPlaceholder(&head); err != nil {
		return "", nil, fmt.Errorf("%s/%s: %w", head.Kind, head.Metadata.Name, err)
	}
	return placeholder, events, nil
}

// newPlaceholder returns the placeholder of a hook, whose header is head.
func newPlaceholder(head *releaseutil.SimpleHead) (string, error) {
	annotations := map[string]string{}
	for key, value := range head.Metadata.Annotations {
		if strings.HasPrefix(key, release.HookAnnotation) {
			annotations[key] = value
		}
	}
	annotations[release.HookAnnotation] = string(release.HookTest)
	head.Metadata.Annotations = annotations
	text, err := json.Marshal(head)
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
