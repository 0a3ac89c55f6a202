// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import "github.com/ordered-helm/helm/internal/driftcorrection"

type (
	// CorrectDrift makes the objects of a release again as they were deployed, without a
	// revision and without hooks (docs/reference.md, "Correcting drift").
	CorrectDrift = driftcorrection.CorrectDrift
	// DriftCorrection describes what CorrectDrift has done.
	DriftCorrection = driftcorrection.Result
	// NotDeployedError reports that CorrectDrift has nothing to re-apply, because the newest
	// revision of the release is not deployed.
	NotDeployedError = driftcorrection.NotDeployedError
	// DriftInterruptedError reports that CorrectDrift stopped, because another operation has
	// begun on the release. It wraps a *HeldError if that operation is still running.
	DriftInterruptedError = driftcorrection.InterruptedError
)

// NewCorrectDrift returns a CorrectDrift without timeouts.
func NewCorrectDrift(cfg *Configuration) *CorrectDrift { return driftcorrection.New(cfg) }
