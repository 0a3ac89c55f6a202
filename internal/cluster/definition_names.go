// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"strings"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/releaseutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// DefinitionNames lists the names of the definitions of custom resources in a file,
// without reading their schemas: these are most of it. It is nil if the file has
// anything else, or is written in another way than usual.
func DefinitionNames(file []byte) []string {
	texts, err := splitDocuments(string(file))
	if err != nil {
		return nil
	}
	var names []string
	for _, text := range texts {
		beginning, _, found := strings.Cut(text, "\nspec:")
		var head releaseutil.SimpleHead
		if err := yaml.Unmarshal([]byte(beginning), &head); err != nil {
			return nil
		}
		switch {
		case head == (releaseutil.SimpleHead{}) && !found: // comments
		case head.Kind == "CustomResourceDefinition" && head.Version == definitions.GroupVersion().String() && head.Metadata != nil && head.Metadata.Name != "":
			names = append(names, head.Metadata.Name)
		default:
			return nil
		}
	}
	return names
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// DefinitionsPresent tells which definitions of custom resources the cluster has for
// sure, of those named. What cannot be found out is not in the answer.
func (c *Client) DefinitionsPresent(ctx context.Context, names []string) map[string]bool {
	if len(names) == 0 {
		return nil
	}
	return c.backend.definitionsPresent(ctx, names)
}

func (delegated) definitionsPresent(context.Context, []string) map[string]bool { return nil }

func (n native) definitionsPresent(ctx context.Context, names []string) map[string]bool {
	present := make(map[string]bool, len(names))
	client, err := n.Metadata()
	if err != nil {
		return present
	}
	found := make([]bool, len(names))
	var g errgroup.Group
	g.SetLimit(mostAtOnce)
	for i, name := range names {
		g.Go(func() error {
			_, err := client.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
			found[i] = err == nil
			return nil
		})
	}
	_ = g.Wait() // what fails is not found
	for i, name := range names {
		present[name] = found[i]
	}
	return present
}
