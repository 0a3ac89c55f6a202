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

// DefinitionNames returns the names of the CRDs in a file. It does not parse their schemas,
// which make up most of the file. It returns nil if the file contains anything but CRDs, or
// cannot be read without a complete parser.
func DefinitionNames(file []byte) []string {
	texts, err := splitDocuments(string(file))
	if err != nil {
		return nil
	}
	var names []string
	for _, text := range texts {
		head, _, found := strings.Cut(text, "\nspec:")
		var object releaseutil.SimpleHead
		if err := yaml.Unmarshal([]byte(head), &object); err != nil {
			return nil
		}
		switch {
		case object == (releaseutil.SimpleHead{}) && !found: // the document contains only comments
		case object.Kind == "CustomResourceDefinition" && object.Version == definitions.GroupVersion().String() && object.Metadata != nil && object.Metadata.Name != "":
			names = append(names, object.Metadata.Name)
		default:
			return nil
		}
	}
	return names
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// DefinitionsPresent reports for each of the names whether a CRD with this name certainly
// exists in the cluster. A CRD that cannot be read counts as missing.
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
	g.SetLimit(MaxConcurrency)
	for i, name := range names {
		g.Go(func() error {
			_, err := client.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
			found[i] = err == nil
			return nil
		})
	}
	_ = g.Wait() // a failure counts as missing
	for i, name := range names {
		present[name] = found[i]
	}
	return present
}
