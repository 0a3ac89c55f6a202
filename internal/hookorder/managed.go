// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
)

// IsManaged reports whether the objects of a hook belong to the release, so that they are
// deleted with it. The annotation helm.sh/hook-policy of the hook decides; without it, the
// chart that contains the hook does.
func (m ChartModes) IsManaged(h *release.Hook) bool {
	if policy := policyOf(h); policy != "" {
		return policy == annotation.HookManaged
	}
	return m.ChartOf != nil && m.Managed[m.ChartOf(h)]
}

// policyOf returns the value of the annotation helm.sh/hook-policy of a hook, or "" if it has
// none. Rendering rejects invalid values, so an invalid one in a stored release counts as none.
func policyOf(h *release.Hook) string {
	if !strings.Contains(h.Manifest, annotation.HookPolicy) {
		return ""
	}
	var object struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(h.Manifest), &object); err != nil {
		return ""
	}
	policy, _ := annotation.ReadHookPolicy(object.Metadata.Annotations)
	return policy
}
