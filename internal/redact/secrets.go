// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package redact removes the contents of Secrets from text.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/diagnosis"
)

// FromObjects returns what hides the contents of the Secrets among objects.
func FromObjects(objects []map[string]any) *diagnosis.Masker {
	return diagnosis.NewMasker(secretTexts(objects))
}

// secretTexts lists what the Secrets among objects hold, in plain and in base64,
// without what occurs in the name of an object or of its namespace: names are no
// secrets, and must stay readable.
func secretTexts(objects []map[string]any) []string {
	var names, texts []string
	for _, object := range objects {
		for _, field := range []string{"name", "namespace"} {
			name, _, _ := unstructured.NestedString(object, "metadata", field)
			names = append(names, name)
		}
	}
	add := func(text string) {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, text) }) {
			texts = append(texts, text)
		}
	}
	for _, object := range objects {
		if object["kind"] != "Secret" || object["apiVersion"] != "v1" {
			continue
		}
		for _, text := range leaves(object["stringData"]) {
			add(text)
			addEncoded(add, []byte(text))
		}
		for _, text := range leaves(object["data"]) {
			add(text)
			if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
				add(string(decoded))
				addEncoded(add, decoded)
			}
		}
	}
	return texts
}

// addEncoded adds the spellings of a value in base64.
func addEncoded(add func(string), value []byte) {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		add(encoding.EncodeToString(value))
	}
}

// leaves are the texts in a value. What should be one and is a number or a boolean
// is spelled as in JSON and as Go prints it.
func leaves(value any) []string {
	var texts []string
	switch value := value.(type) {
	case nil:
	case string:
		texts = append(texts, value)
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			texts = append(texts, leaves(value[key])...)
		}
	case []any:
		for _, item := range value {
			texts = append(texts, leaves(item)...)
		}
	default:
		if text, err := json.Marshal(value); err == nil {
			texts = append(texts, string(text))
		}
		texts = append(texts, fmt.Sprint(value))
	}
	return texts
}

// HookObjects reads the objects of the hooks of a release.
func HookObjects(rel *release.Release) []map[string]any {
	var objects []map[string]any
	for _, hook := range rel.Hooks {
		objects = append(objects, ManifestObjects(hook.Manifest)...)
	}
	return objects
}

// ManifestObjects reads the objects of a manifest, those of lists one by one.
// What cannot be read is left out.
func ManifestObjects(manifest string) []map[string]any {
	var objects []map[string]any
	for _, document := range releaseutil.SplitManifests(manifest) {
		text, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber() // large numbers stay as they are
		var object map[string]any
		if decoder.Decode(&object) != nil {
			continue
		}
		objects = append(objects, object)
		items, _ := object["items"].([]any)
		for _, item := range items {
			if object, ok := item.(map[string]any); ok {
				objects = append(objects, object)
			}
		}
	}
	return objects
}
