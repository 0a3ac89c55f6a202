// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/hookrunner"
)

const (
	crdKind                 = "CustomResourceDefinition"
	deleteTimeoutAnnotation = annotation.HookDeleteTimeout
)

// hookMetadata is what is read of a hook's manifest.
type hookMetadata struct {
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
}

func namespaceOf(h *release.Hook, fallback string) (string, error) {
	namespace, err := hookrunner.Namespace(h)
	if err != nil {
		return "", fmt.Errorf("unable to parse metadata.namespace from kubernetes manifest for output logs hook %s: %w", h.Path, err)
	}
	return cmp.Or(namespace, fallback), nil
}

// deleteTimeoutOf is how long a hook says that its deletion may take, if it does.
func deleteTimeoutOf(h *release.Hook) (limit time.Duration, given bool, err error) {
	var object hookMetadata
	if err := yaml.Unmarshal([]byte(h.Manifest), &object); err != nil {
		return 0, false, err
	}
	return annotation.ReadHookDeleteTimeout(object.Metadata.Annotations)
}

// build reads what the hook consists of, and has the cluster's schema checked.
func (r *hookRun) build(h *release.Hook) (kube.ResourceList, error) {
	return r.cluster.Build([]byte(h.Manifest), true)
}
