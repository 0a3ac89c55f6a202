// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	helmaction "helm.sh/helm/v3/pkg/action"
)

// Verify is Helm's Verify.
type Verify = helmaction.Verify

// NewVerify returns Helm's Verify action.
func NewVerify() *Verify { return helmaction.NewVerify() }
