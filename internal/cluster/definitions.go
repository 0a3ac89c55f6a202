// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/object"
)

// After a CRD is established, it takes a short time until discovery returns its kinds.
// Under load this can be seconds. AwaitKinds asks at these intervals.
const (
	discoveryTimeout         = 10 * time.Second
	initialDiscoveryInterval = 50 * time.Millisecond
	maxDiscoveryInterval     = time.Second
)

// AwaitKinds repeats discovery until the cluster serves all kinds. If a kind is still
// missing after discoveryTimeout, it returns no error: building an object of that kind
// fails then.
func (c *Client) AwaitKinds(ctx context.Context, kinds []schema.GroupVersionKind) error {
	waiting, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	for interval := initialDiscoveryInterval; ; interval = min(2*interval, maxDiscoveryInterval) {
		if err := c.invalidateDiscovery(); err != nil {
			return err
		}
		served, err := c.servesAll(kinds)
		if err != nil || served {
			return err
		}
		select {
		case <-waiting.Done():
			return ctx.Err()
		case <-time.After(interval):
		}
	}
}

func (c *Client) servesAll(kinds []schema.GroupVersionKind) (bool, error) {
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

// DefinedKinds returns the kinds that the CRDs in a list define, in each version that is
// served. It ignores all other objects.
func DefinedKinds(list kube.ResourceList) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, info := range list {
		definition, err := object.AsUnstructured(info.Object)
		if err != nil || definition.GetKind() != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		for _, version := range servedVersions(definition) {
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
