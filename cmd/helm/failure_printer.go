// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"

	"helm.sh/helm/v3/pkg/cli/output"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/pkg/action"
)

// failedRelease is what install and upgrade print as JSON or YAML if an ordered operation
// fails: the release, as after a success, and the additional field "failure".
type failedRelease struct {
	*release.Release
	Failure any `json:"failure"`
}

// failureSummary is the field "failure" for an error that contains only a message.
type failureSummary struct {
	Summary string `json:"summary"`
}

func newFailedRelease(rel *release.Release, err error) *failedRelease {
	failed := &failedRelease{Release: orderrecord.WithoutRecord(rel)}
	if deploy, ok := errors.AsType[*action.DeployError](err); ok {
		failed.Failure = deploy
	} else if removal, ok := errors.AsType[*action.RemovalError](err); ok {
		failed.Failure = removal
	} else if hook, ok := errors.AsType[*action.HookError](err); ok {
		failed.Failure = hook
	} else {
		failed.Failure = failureSummary{text.OneLine(strings.TrimPrefix(err.Error(), upgradeFailed))}
	}
	return failed
}

// printFailure prints a release and its failure as JSON or YAML, if format is one of these and
// the operation was ordered. Otherwise it prints nothing, as in Helm. In any case, the caller
// prints err to standard error.
func (a *app) printFailure(format output.Format, strategy action.WaitStrategy, rel *release.Release, err error) error {
	if strategy != action.WaitStrategyOrdered || format == output.Table {
		return nil
	}
	return format.Write(a.out, printer{data: newFailedRelease(rel, err)})
}
