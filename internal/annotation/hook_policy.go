// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"strings"

	"github.com/ordered-helm/helm/internal/similar"
)

// HookPolicy is the key of the annotation of a hook that says whether its objects belong to the
// release. It must be HookManaged or HookUnmanaged; without it, the format of the chart decides.
const (
	HookPolicy    = "helm.sh/hook-policy"
	HookManaged   = "managed"
	HookUnmanaged = "unmanaged"
)

// CheckHook returns a *ValueError if an annotation of a hook that Helm does not know is invalid.
func CheckHook(annotations map[string]string) error {
	if _, err := ReadHookPolicy(annotations); err != nil {
		return err
	}
	_, _, err := ReadHookDeleteTimeout(annotations)
	return err
}

// ReadHookPolicy returns the value of the annotation HookPolicy, in lower case; it is empty if the
// annotation does not exist. The error is a *ValueError.
func ReadHookPolicy(annotations map[string]string) (policy string, err error) {
	value, set := annotations[HookPolicy]
	if !set {
		return "", nil
	}
	policy = strings.ToLower(strings.TrimSpace(value))
	switch policy {
	case HookManaged, HookUnmanaged:
		return policy, nil
	}
	if policy == "" {
		return "", newValueError(HookPolicy, value, `must be "managed" or "unmanaged"; omit the annotation to use the default of the chart`)
	}
	if meant := similar.Nearest(policy, []string{HookManaged, HookUnmanaged}); meant != "" {
		return "", newValueError(HookPolicy, value, `must be "managed" or "unmanaged": did you mean %q?`, meant)
	}
	return "", newValueError(HookPolicy, value, `must be "managed" or "unmanaged"`)
}
