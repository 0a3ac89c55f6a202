// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"github.com/ordered-helm/helm/internal/drift"
	"github.com/ordered-helm/helm/internal/driftcorrection"
	"github.com/ordered-helm/helm/internal/ignorefile"
)

type (
	// FindDrift finds out what of a release differs in the cluster from its deployed revision
	// (docs/reference.md, "helm drift").
	FindDrift = drift.FindDrift
	// Drift is the result of FindDrift.
	Drift = drift.Report
	// DriftedObject is an object in a Drift.
	DriftedObject = drift.Object
	// CorrectDrift makes the objects of a release again as they were deployed, without a
	// revision and without hooks (docs/reference.md, "Correcting drift").
	CorrectDrift = driftcorrection.CorrectDrift
	// DriftCorrection describes what CorrectDrift has done.
	DriftCorrection = driftcorrection.Result
	// NotDeployedError reports that the newest revision of the release is not deployed.
	NotDeployedError = drift.NotDeployedError
	// UnknownDriftError reports that FindDrift could not compare some objects.
	UnknownDriftError = drift.UnknownError
	// DriftInterruptedError reports that CorrectDrift stopped, because another operation has
	// begun on the release. It wraps a *HeldError if that operation is still running.
	DriftInterruptedError = driftcorrection.InterruptedError
	// IgnoreFile contains rules about differences that FindDrift and Preview.Ignore ignore.
	IgnoreFile = ignorefile.File
)

// NewFindDrift returns a FindDrift without rules.
func NewFindDrift(cfg *Configuration) *FindDrift { return drift.New(cfg) }

// ParseIgnoreFile reads an IgnoreFile. name is its path for messages.
func ParseIgnoreFile(name string, text []byte) (*IgnoreFile, error) {
	return ignorefile.Parse(name, text)
}

// NewCorrectDrift returns a CorrectDrift without timeouts.
func NewCorrectDrift(cfg *Configuration) *CorrectDrift { return driftcorrection.New(cfg) }
