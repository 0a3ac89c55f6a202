// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An API server announces the kinds of a definition a moment after it has
// established it; under load that takes seconds.
const (
	announcedWithin = 10 * time.Second
	firstLook       = 50 * time.Millisecond
	slowestLooks    = time.Second
)

// AwaitKinds forgets which kinds the cluster has, and asks until it has those
// given. That it has one not within ten seconds is no error: what is built of that
// kind says so.
func (c *Client) AwaitKinds(ctx context.Context, kinds []schema.GroupVersionKind) error {
	waiting, cancel := context.WithTimeout(ctx, announcedWithin)
	defer cancel()
	for pause := firstLook; ; pause = min(2*pause, slowestLooks) {
		if err := c.refreshDiscovery(); err != nil {
			return err
		}
		known, err := c.knowsAll(kinds)
		if err != nil || known {
			return err
		}
		select {
		case <-waiting.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (c *Client) knowsAll(kinds []schema.GroupVersionKind) (bool, error) {
	if c.getter == nil {
		return true, nil
	}
	for _, kind := range kinds {
		mapping, err := c.Mapping(kind.GroupVersion().String(), kind.Kind)
		if err != nil || mapping == nil {
			return false, err
		}
	}
	return true, nil
}

// DefinedKinds are the kinds that the definitions among the objects have the
// cluster serve.
func DefinedKinds(list kube.ResourceList) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, info := range list {
		object, err := asUnstructured(info.Object)
		if err != nil || object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
		for _, version := range servedVersions(object) {
			kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
		}
	}
	return kinds
}

func servedVersions(definition *unstructured.Unstructured) []string {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	var served []string
	for _, entry := range versions {
		version, ok := entry.(map[string]any)
		if !ok || version["served"] != true {
			continue
		}
		if name, ok := version["name"].(string); ok {
			served = append(served, name)
		}
	}
	return served
}
