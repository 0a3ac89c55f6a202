// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/patch"
)

// crdKind is the kind of CRDs.
var crdKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: object.CRDKind}

// declared returns a copy of info, a CRD of a chart, without the fields that only the server
// sets. Generators of CRDs write some of them, such as an empty status.
func declared(info *object.Info) (*object.Info, error) {
	crd, err := object.AsUnstructured(info.Object)
	if err != nil {
		return nil, err
	}
	clean := *info
	clean.Object = &unstructured.Unstructured{Object: object.WithoutServerFields(crd.Object)}
	if clean.Mapping == nil { // a custom Kubernetes client may not set it
		clean.Mapping = &meta.RESTMapping{
			Resource: crdKind.GroupVersion().WithResource("customresourcedefinitions"), GroupVersionKind: crdKind, Scope: meta.RESTScopeRoot,
		}
	}
	return &clean, nil
}

// differs reports whether live, a CRD in the cluster, must be changed to what info declares.
// base is the result of baseOf. Values that the server would store in the same way do not
// differ, and neither do fields that info does not declare, such as defaults, the status, and
// the CA bundle of a conversion webhook.
func differs(info, base *object.Info, live *unstructured.Unstructured) (bool, error) {
	p, err := patch.Compute(info, base.Object, live, true)
	if err != nil {
		return false, err
	}
	return !p.IsEmpty() && !p.StoresSame(info, live), nil
}

// baseOf returns what counts as the previous declaration of live, a CRD in the cluster, when a
// patch is computed: the new declaration, info, and those undeclared fields of live that the
// patch must remove. These are names that nobody but the author of the CRD sets, and fields
// that contradict the declared ones. Other fields may be set by others, and are kept.
func baseOf(info *object.Info, live *unstructured.Unstructured) *object.Info {
	content := info.Object.(*unstructured.Unstructured).Object //nolint:forcetypeassert // declared has set it
	base := &unstructured.Unstructured{Object: maps.Clone(content)}
	spec := cloneField(base.Object, "spec")
	liveSpec, _ := live.Object["spec"].(map[string]any)
	liveNames, _ := liveSpec["names"].(map[string]any)
	addMissing(cloneField(spec, "names"), liveNames, "shortNames", "categories")
	addMissing(spec, liveSpec, "preserveUnknownFields") // undeclared means false
	if conversion := cloneField(spec, "conversion"); conversion != nil {
		liveConversion, _ := liveSpec["conversion"].(map[string]any)
		liveWebhook, _ := liveConversion["webhook"].(map[string]any)
		addMissing(conversion, liveConversion, "webhook")
		if webhook := cloneField(conversion, "webhook"); webhook != nil {
			client := cloneField(webhook, "clientConfig")
			liveClient, _ := liveWebhook["clientConfig"].(map[string]any)
			_, hasURL := client["url"]
			_, hasService := client["service"]
			switch {
			case hasURL:
				addMissing(client, liveClient, "service")
			case hasService:
				addMissing(client, liveClient, "url")
			}
		}
	}
	previous := *info
	previous.Object = base
	return &previous
}

// cloneField replaces a map in a field with a copy, and returns the copy. It returns nil if the
// field is not a map.
func cloneField(in map[string]any, field string) map[string]any {
	value, ok := in[field].(map[string]any)
	if !ok {
		return nil
	}
	value = maps.Clone(value)
	in[field] = value
	return value
}

// addMissing adds fields to a map that only live has.
func addMissing(to, live map[string]any, fields ...string) {
	for _, field := range fields {
		_, isDeclared := to[field]
		if value, isLive := live[field]; isLive && !isDeclared && to != nil {
			to[field] = value
		}
	}
}
