// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"strings"

	"helm.sh/helm/v3/pkg/cli/output"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/pkg/action"
)

// failedRelease is what install and upgrade print with -o json or -o yaml if an ordered
// operation fails: the release in the same form as after a success, and the failure.
type failedRelease struct {
	*release.Release
	Failure any `json:"failure"`
}

// unexplained is the failure to print if the error has no details, only a message.
type unexplained struct {
	Summary string `json:"summary"`
}

func newFailedRelease(rel *release.Release, err error) *failedRelease {
	var deploy *action.DeployError
	var removal *action.RemovalError
	var hook *action.HookError
	rel = orderrecord.WithoutRecord(rel)
	switch {
	case errors.As(err, &deploy):
		return &failedRelease{rel, deploy}
	case errors.As(err, &removal):
		return &failedRelease{rel, removal}
	case errors.As(err, &hook):
		return &failedRelease{rel, hook}
	}
	text := strings.TrimPrefix(err.Error(), upgradeFailed)
	return &failedRelease{rel, unexplained{strings.Join(strings.Fields(text), " ")}}
}

func (p *failedRelease) WriteJSON(out io.Writer) error { return output.EncodeJSON(out, p) }
func (p *failedRelease) WriteYAML(out io.Writer) error { return output.EncodeYAML(out, p) }

// WriteTable prints nothing, because the error is already printed to standard error.
func (p *failedRelease) WriteTable(io.Writer) error { return nil }

// printFailure prints the failure of an ordered operation as JSON or YAML. For other
// operations it prints nothing, as Helm does.
func (a *app) printFailure(out *formatFlag, strategy action.WaitStrategy, failed *failedRelease) error {
	if strategy != action.WaitStrategyOrdered {
		return nil
	}
	return out.format.Write(a.out, failed)
}
