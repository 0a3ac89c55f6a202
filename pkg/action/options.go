// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"
	"time"

	"github.com/ordered-helm/helm/internal/wait"
)

// WaitStrategy selects between the order that charts declare and Helm's way to deploy
// (docs/reference.md, "SDK").
type WaitStrategy string

const (
	// WaitStrategyNone waits only if the field Wait is set, as in Helm. It is the default.
	WaitStrategyNone WaitStrategy = ""
	// WaitStrategyOrdered deploys in the order that the charts declare, and waits until all
	// resources are ready.
	WaitStrategyOrdered WaitStrategy = "ordered"
)

func (s WaitStrategy) validate() error {
	switch s {
	case WaitStrategyNone, WaitStrategyOrdered:
		return nil
	}
	return fmt.Errorf("unknown wait strategy %q: use %q, or leave it empty", string(s), WaitStrategyOrdered)
}

// validateOptions checks the values of WaitStrategy, Takeover and MaxParallelHooks.
func validateOptions(s WaitStrategy, t Takeover, maxParallelHooks int) error {
	if err := s.validate(); err != nil {
		return err
	}
	return errors.Join(t.Validate(), validateParallelHooks(maxParallelHooks))
}

func validateParallelHooks(limit int) error {
	if limit < 0 {
		return fmt.Errorf("invalid limit of %d parallel hooks: must be positive, or 0 for no limit", limit)
	}
	return nil
}

// defaultReadinessTimeout is how long a resource may take to become ready if neither the
// resource nor the caller specifies a timeout.
const defaultReadinessTimeout = 10 * time.Second

// newTimeouts combines the timeout of the whole operation with the readiness timeout of
// single resources. If readiness is 0, it uses the default, limited to the timeout of the
// operation. It returns an error if the given readiness timeout is longer than that of the
// operation.
func newTimeouts(operation, readiness time.Duration, ordered bool) (wait.Timeouts, error) {
	switch {
	case ordered && operation < 0:
		return wait.Timeouts{}, fmt.Errorf("the timeout %s is negative: raise --timeout (0 means no limit)", operation)
	case readiness < 0:
		return wait.Timeouts{}, fmt.Errorf("the readiness timeout %s is negative", readiness)
	case operation > 0 && readiness > operation:
		return wait.Timeouts{}, fmt.Errorf("the readiness timeout %s is longer than the timeout of the whole operation, %s: raise --timeout, or lower --readiness-timeout", readiness, operation)
	case readiness == 0:
		readiness = defaultReadinessTimeout
		if operation > 0 {
			readiness = min(readiness, operation)
		}
	}
	return wait.Timeouts{Operation: operation, Readiness: readiness}, nil
}

// runMode says what a call of an install or upgrade does.
type runMode int

const (
	// deploying changes the cluster.
	deploying runMode = iota
	// clientDryRun and serverDryRun are Helm's dry runs. In clientDryRun, the template
	// function lookup does not read objects from the cluster.
	clientDryRun
	serverDryRun
	// previewing is for a call of Preview: unlike a dry run, it renders and checks
	// everything as if it were deploying.
	previewing
)

// dryRunMode returns the mode that the fields DryRunOption and DryRun of Helm's types
// select.
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

// isDryRun reports whether the operation is one of Helm's dry runs.
func (m runMode) isDryRun() bool { return m == clientDryRun || m == serverDryRun }

// looksUp reports whether the template function lookup reads objects from the cluster.
func (m runMode) looksUp() bool { return m != clientDryRun }

// validateHideSecret returns an error if hide is true although the operation is not a dry
// run.
func (m runMode) validateHideSecret(hide bool) error {
	if hide && !m.isDryRun() {
		return errors.New("Hiding Kubernetes secrets requires a dry-run mode") //nolint:staticcheck // Helm's words
	}
	return nil
}
