// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/declaration"
	"github.com/ordered-helm/helm/pkg/action"
)

const (
	waitEnv = "HELM_WAIT"

	// waitEnvUsage is the part of the usage text of --wait that describes $HELM_WAIT.
	waitEnvUsage = "; without a value, \"ordered\" if $" + waitEnv + " is \"ordered\" and the chart has an order"
	// deployWaitUsage is the usage text of --wait in commands that deploy a chart.
	deployWaitUsage = "wait until all resources are ready, for at most --timeout; \"ordered\" [not in stock Helm]: " +
		"deploy in the order that the chart declares, each node when its dependencies are ready"
)

// waitOptions are the flags and variables of commands that deploy or print a chart which say
// whether the order of the chart applies, and how long to wait for each resource.
type waitOptions struct {
	app   *app
	flags *pflag.FlagSet
	// usesEnv says whether $HELM_WAIT applies to the command.
	usesEnv        bool
	checkReadiness func() error
}

// newWaitOptions adds the flag --readiness-timeout to f, which also contains --wait.
func (a *app) newWaitOptions(f *pflag.FlagSet, readinessTimeout *time.Duration) *waitOptions {
	return &waitOptions{app: a, flags: f, checkReadiness: addReadinessFlag(f, readinessTimeout)}
}

// check returns an error if --readiness-timeout or an environment variable has an invalid
// value.
func (w *waitOptions) check() error {
	if value := os.Getenv(waitEnv); w.usesEnv && value != "" && value != string(action.WaitStrategyOrdered) {
		return fmt.Errorf("$%s: must be %s, or not set, not %q: it changes only what --%s without a value means, and does not enable waiting",
			waitEnv, action.WaitStrategyOrdered, value, waitFlagName)
	}
	return w.checkReadiness()
}

// waitFields are the fields of an action that say whether the order of the chart applies.
type waitFields struct {
	wait              *bool
	strategy          *action.WaitStrategy
	allowIgnoredOrder *bool
}

// resolve sets the fields of an action as $HELM_WAIT requires, if the command line requests to
// wait but does not say how, and the order of chrt or of one of its subcharts applies. It does not
// matter whether the values enable that subchart. Nobody has asked for the order of this chart in
// particular, so declarations that have no effect are not an error. atomic is the value of
// --atomic, which implies --wait. resolve prints a warning if --readiness-timeout has no effect.
func (w *waitOptions) resolve(chrt *chart.Chart, fields waitFields, atomic bool) error {
	if w.usesEnv && os.Getenv(waitEnv) != "" && w.waitsWithoutValue(atomic) {
		declared, err := declaration.Read(chrt)
		if err != nil {
			return err
		}
		if declared.AnySequenced() {
			*fields.wait, *fields.strategy, *fields.allowIgnoredOrder = false, action.WaitStrategyOrdered, true
		}
	}
	if w.flags.Changed(readinessFlagName) && *fields.strategy != action.WaitStrategyOrdered {
		w.app.warnf("--%s has no effect without --%s=%s", readinessFlagName, waitFlagName, action.WaitStrategyOrdered)
	}
	return nil
}

// waitsWithoutValue reports whether the last --wait on the command line has no value, or the
// command line has no --wait, but --atomic.
func (w *waitOptions) waitsWithoutValue(atomic bool) bool {
	args := waitArgs(w.flags, w.app.args)
	if len(args) == 0 {
		return atomic
	}
	return args[len(args)-1].isBare
}
