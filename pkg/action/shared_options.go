// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"

	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/recreation"
)

// WaitStrategy says whether an operation follows the order that charts declare
// (docs/reference.md, "SDK"). Any value that is not one of the constants below is an error.
type WaitStrategy string

const (
	// WaitStrategyNone makes an operation work as in Helm: it waits only if the field Wait
	// is set. It is the default. A rollback or uninstall of a release that was deployed in
	// order follows that order nevertheless.
	WaitStrategyNone WaitStrategy = ""
	// WaitStrategyOrdered deploys resources in the order that the charts declare, and waits
	// until all of them are ready.
	WaitStrategyOrdered WaitStrategy = "ordered"
)

func (s WaitStrategy) validate() error {
	switch s {
	case WaitStrategyNone, WaitStrategyOrdered:
		return nil
	}
	return fmt.Errorf("unknown wait strategy %q: use %q, or leave it empty", string(s), WaitStrategyOrdered)
}

// validateOptions checks the values of WaitStrategy, Takeover, MaxParallelHooks and RecreateObjects.
func validateOptions(s WaitStrategy, t Takeover, maxParallelHooks int, recreate ...string) error {
	return errors.Join(s.validate(), t.Validate(), hooks.ValidateLimit(maxParallelHooks), recreation.Validate(recreate))
}

// validateJobs checks the values of WaitForJobs (wait) and IgnoreJobs (ignore).
func validateJobs(wait, ignore bool) error {
	if wait && ignore {
		return errors.New("WaitForJobs and IgnoreJobs exclude each other")
	}
	return nil
}

// waitsForJobs reports whether an operation waits for Jobs that nothing depends on, according
// to the fields WaitForJobs (wait) and IgnoreJobs (ignore). An ordered operation does by
// default.
func waitsForJobs(ordered, wait, ignore bool) bool { return wait || ordered && !ignore }

// runMode distinguishes a call that changes the cluster from dry runs and previews.
type runMode int

const (
	// deploying is the mode of an install or upgrade that changes the cluster.
	deploying runMode = iota
	// clientDryRun and serverDryRun are Helm's dry runs. In clientDryRun, the template
	// function "lookup" does not read from the cluster.
	clientDryRun
	serverDryRun
	// previewing is the mode of Preview. Unlike a dry run, a preview renders and checks
	// everything as an install or upgrade that changes the cluster does.
	previewing
)

// dryRunMode returns the mode that the fields DryRunOption (option) and DryRun (enabled) of
// Helm's types select.
func dryRunMode(option string, enabled bool) runMode {
	switch {
	case option == "server":
		return serverDryRun
	case option == "client", option == "true":
		return clientDryRun
	case !enabled:
		return deploying
	case option == "none", option == "false":
		return serverDryRun
	}
	return clientDryRun
}

// isDryRun reports whether m is one of Helm's dry runs.
func (m runMode) isDryRun() bool { return m == clientDryRun || m == serverDryRun }

// looksUp reports whether the template function "lookup" reads from the cluster.
func (m runMode) looksUp() bool { return m != clientDryRun }

// validateHideSecret returns Helm's error if the field HideSecret (hide) is set although
// the operation is not a dry run.
func (m runMode) validateHideSecret(hide bool) error {
	if hide && !m.isDryRun() {
		return errors.New("Hiding Kubernetes secrets requires a dry-run mode") //nolint:staticcheck // Helm's text
	}
	return nil
}
