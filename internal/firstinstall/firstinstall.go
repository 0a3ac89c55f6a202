// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package firstinstall decides whether an upgrade of a release whose first installation failed
// renders the chart as for an installation (docs/reference.md, "After a failed installation").
package firstinstall

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/object"
)

// NeverDeployed reports whether no revision of a release was ever deployed, or none since its
// last uninstall. It returns false if revisions that may have been deployed are no longer in
// the history. revisions is the whole history.
func NeverDeployed(revisions []*release.Release) bool {
	sorted := slices.Clone(revisions)
	releaseutil.SortByRevision(sorted)
	for _, rel := range slices.Backward(sorted) {
		switch rel.Info.Status {
		case release.StatusUninstalled:
			return true
		case release.StatusDeployed, release.StatusSuperseded:
			return false
		}
	}
	return len(sorted) > 0 && sorted[0].Version == 1
}

// Cluster reads objects. *cluster.Client implements it.
type Cluster interface {
	BuildReferences(objects []map[string]any, namespace string) (kube.ResourceList, error)
	Live(ctx context.Context, list kube.ResourceList) (map[*object.Info]*unstructured.Unstructured, error)
}

// ChangedSecret returns the name of a Secret in the cluster that has other values than objects,
// the rendered objects of a chart, declare for its keys; "" if there is none. Keys that the
// Secret does not have do not matter. namespace is the namespace of the release.
func ChangedSecret(ctx context.Context, c Cluster, objects []map[string]any, namespace string) (string, error) {
	var secrets []map[string]any
	for _, content := range objects {
		if field.String(content, "kind") == "Secret" && field.String(content, "apiVersion") == "v1" {
			secrets = append(secrets, content)
		}
	}
	if len(secrets) == 0 {
		return "", nil
	}
	list, err := c.BuildReferences(secrets, namespace)
	if err != nil {
		return "", err
	}
	live, err := c.Live(ctx, list)
	if err != nil {
		return "", fmt.Errorf("find out which Secrets of the failed installation exist: %w", err)
	}
	for i, info := range list {
		if live[info] != nil && changesValue(secrets[i], live[info].Object) {
			return info.Name, nil
		}
	}
	return "", nil
}

// changesValue reports whether a declared Secret has another value than the live one for any
// key that both have.
func changesValue(declared, live map[string]any) bool {
	existing := field.Map(live, "data")
	values := map[string]string{}
	for key, value := range field.Map(declared, "data") {
		text, _ := value.(string) // the server rejects other types
		values[key] = decoded(text)
	}
	for key, value := range field.Map(declared, "stringData") {
		values[key], _ = value.(string)
	}
	for key, value := range values {
		if text, exists := existing[key].(string); exists && decoded(text) != value {
			return true
		}
	}
	return false
}

// decoded decodes base64. It returns text itself if that is invalid.
func decoded(text string) string {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return text
	}
	return string(data)
}
