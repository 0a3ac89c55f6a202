// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

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
)

// SecretValues returns the values of the Secrets among objects, which are Kubernetes
// objects of any kind. The result contains each value both in plain text and in base64. It
// omits values that are part of the name or namespace of one of the objects, because names
// are not secret and must stay readable.
func SecretValues(objects []map[string]any) []string {
	var names, values []string
	for _, object := range objects {
		for _, field := range []string{"name", "namespace"} {
			name, _, _ := unstructured.NestedString(object, "metadata", field)
			names = append(names, name)
		}
	}
	add := func(value string) {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, value) }) {
			values = append(values, value)
		}
	}
	for _, object := range objects {
		if object["kind"] != "Secret" || object["apiVersion"] != "v1" {
			continue
		}
		for _, value := range scalars(object["stringData"]) {
			add(value)
			addBase64(add, []byte(value))
		}
		for _, value := range scalars(object["data"]) {
			add(value)
			if decoded, err := base64.StdEncoding.DecodeString(value); err == nil {
				add(string(decoded))
				addBase64(add, decoded)
			}
		}
	}
	return values
}

// addBase64 calls add with value in each variant of base64.
func addBase64(add func(string), value []byte) {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		add(encoding.EncodeToString(value))
	}
}

// scalars returns all strings, numbers and booleans in a value, which can be a map or list,
// as texts. Numbers and booleans are invalid in a Secret, but an error of the server may
// quote them: they are returned both as in JSON and as Go prints them.
func scalars(value any) []string {
	var texts []string
	switch value := value.(type) {
	case nil:
	case string:
		texts = append(texts, value)
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			texts = append(texts, scalars(value[key])...)
		}
	case []any:
		for _, item := range value {
			texts = append(texts, scalars(item)...)
		}
	default:
		if text, err := json.Marshal(value); err == nil {
			texts = append(texts, string(text))
		}
		texts = append(texts, fmt.Sprint(value))
	}
	return texts
}

// ManifestObjects returns the objects in a manifest, and the items of each List. It skips
// documents that cannot be decoded.
func ManifestObjects(manifest string) []map[string]any {
	var objects []map[string]any
	for _, document := range releaseutil.SplitManifests(manifest) {
		text, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber() // keep the precision of large numbers
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

// HookObjects returns the objects in the manifests of hooks, and the items of each List.
func HookObjects(hooks []*release.Hook) []map[string]any {
	var objects []map[string]any
	for _, h := range hooks {
		objects = append(objects, ManifestObjects(h.Manifest)...)
	}
	return objects
}
