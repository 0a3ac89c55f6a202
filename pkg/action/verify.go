// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	helmaction "helm.sh/helm/v3/pkg/action"
)

// Verify checks the signature of a chart archive (helm verify). It is Helm's action.
type Verify = helmaction.Verify

// NewVerify returns a Verify with Helm's defaults.
func NewVerify() *Verify { return helmaction.NewVerify() }
