// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"fmt"
	"slices"
)

// Policy says what an operation does with the CRDs in the crds/ directories of its charts
// (docs/reference.md, "CRDs in crds/ directories"). The zero value means what Helm does: an
// install creates the CRDs that do not exist, and an upgrade does nothing.
type Policy string

const (
	// Create creates the CRDs that do not exist, also in upgrades.
	Create Policy = "create"
	// Apply also changes the CRDs that differ from their declarations.
	Apply Policy = "apply"
	// Skip does nothing with CRDs, including those that are crd-install hooks.
	Skip Policy = "skip"
)

// Policies returns all policies except the zero value.
func Policies() []Policy { return []Policy{Create, Apply, Skip} }

// Resolve returns the policy of an operation with the options p and skip, the field SkipCRDs
// of Helm's actions. It returns an error if p is unknown or contradicts skip.
func (p Policy) Resolve(skip bool) (Policy, error) {
	switch {
	case p != "" && !slices.Contains(Policies(), p):
		return "", fmt.Errorf("unknown policy %q for CRDs: use one of %q, or leave it empty", string(p), Policies())
	case skip && p != "" && p != Skip:
		return "", fmt.Errorf("SkipCRDs and the policy %q for CRDs exclude each other", string(p))
	case skip:
		return Skip, nil
	}
	return p, nil
}
