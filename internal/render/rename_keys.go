// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/field"
)

// renameKeys does what canonicalDocument does for a document in which only the keys of
// annotations differ from the canonical form, as those of most charts do. It does not parse the
// document again, which would take longer than all else. text is the document, and object the
// parsed document, whose keys it renames. ok is false if canonicalDocument is needed, or may be.
func renameKeys(text string, object map[string]any) (renamed string, keys []convertedKey, ok bool) {
	kind, isText := object["kind"].(string)
	metadata := field.Map(object, "metadata")
	name, isName := metadata["name"].(string)
	// Without escape sequences and anchors, a key can only be written as it is.
	if !isText || !isName || strings.ContainsAny(text, `\&`) || strings.Contains(text, hookModeField) || object["items"] != nil {
		return "", nil, false
	}
	annotations := field.Map(metadata, "annotations")
	if _, isHook := annotations[release.HookAnnotation]; isHook {
		return "", nil, false
	}
	for key, value := range annotations {
		if !annotation.IsSequencingKey(key) {
			continue
		}
		canonical := annotation.CanonicalKey(key)
		if _, isText := value.(string); !isText || annotation.IsList(key) && strings.Count(text, key) > 1 || canonical != key && annotations[canonical] != nil {
			return "", nil, false
		}
		if canonical != key {
			keys = append(keys, convertedKey{kind + "/" + name, key})
		}
	}
	for _, k := range keys {
		canonical := annotation.CanonicalKey(k.key)
		text = strings.Replace(text, k.key, canonical, 1)
		annotations[canonical] = annotations[k.key]
		delete(annotations, k.key)
	}
	return text, keys, true
}
