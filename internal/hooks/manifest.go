// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"cmp"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/hookorder"
)

// namespaceOf returns the namespace in the manifest of a hook, or releaseNamespace if the
// manifest contains none.
func namespaceOf(h *release.Hook, releaseNamespace string) (string, error) {
	namespace, err := hookorder.Namespace(h)
	if err != nil {
		return "", fmt.Errorf("unable to parse metadata.namespace from kubernetes manifest for output logs hook %s: %w", h.Path, err)
	}
	return cmp.Or(namespace, releaseNamespace), nil
}

// deleteTimeoutOf returns the value of the annotation hook-delete-timeout, which limits the
// wait for the deletion of a hook. declared is false if the hook does not have it.
func deleteTimeoutOf(h *release.Hook) (limit time.Duration, declared bool, err error) {
	var manifest struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(h.Manifest), &manifest); err != nil {
		return 0, false, err
	}
	return annotation.ReadHookDeleteTimeout(manifest.Metadata.Annotations)
}
