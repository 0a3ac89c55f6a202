// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ordered-helm/helm/pkg/action"
)

const (
	waitFlagName        = "wait"
	waitForJobsFlagName = "wait-for-jobs"
	readinessFlagName   = "readiness-timeout"
	readinessEnv        = "HELM_READINESS_TIMEOUT"
)

// waitFlag implements pflag.Value for the flag --wait. The value is a boolean, as in Helm, or
// "ordered". It sets the fields Wait and WaitStrategy of an action.
type waitFlag struct {
	wait     *bool
	strategy *action.WaitStrategy
}

func addWaitFlag(cmd *cobra.Command, wait *bool, strategy *action.WaitStrategy, usage string) {
	f := cmd.Flags()
	f.Var(&waitFlag{wait: wait, strategy: strategy}, waitFlagName, usage)
	f.Lookup(waitFlagName).NoOptDefVal = "true"
	completeFlag(cmd, waitFlagName, completeWait)
}

func (v *waitFlag) Type() string { return "true|false|ordered" }

func (v *waitFlag) String() string {
	if v.wait == nil { // pflag calls String on a zero value
		return "false"
	}
	if *v.strategy == action.WaitStrategyOrdered {
		return string(*v.strategy)
	}
	return strconv.FormatBool(*v.wait)
}

func (v *waitFlag) Set(s string) error {
	if s == string(action.WaitStrategyOrdered) {
		*v.wait, *v.strategy = false, action.WaitStrategyOrdered
		return nil
	}
	wait, err := strconv.ParseBool(s)
	if err != nil {
		return fmt.Errorf("must be true, false or ordered, not %q", s)
	}
	*v.wait, *v.strategy = wait, action.WaitStrategyNone
	return nil
}

// waitForJobsFlag implements pflag.Value for the flag --wait-for-jobs. It sets the fields
// WaitForJobs and IgnoreJobs of an action: an ordered operation waits for Jobs unless the
// value false is given explicitly.
type waitForJobsFlag struct{ wait, ignore *bool }

func addWaitForJobsFlag(f *pflag.FlagSet, wait, ignore *bool) {
	f.Var(waitForJobsFlag{wait, ignore}, waitForJobsFlagName, "with --wait, also wait for Jobs to complete; \"false\" [not in stock Helm], if given explicitly: with --wait=ordered, do not wait for Jobs without dependents")
	f.Lookup(waitForJobsFlagName).NoOptDefVal = "true"
}

func (waitForJobsFlag) Type() string { return "bool" }

func (v waitForJobsFlag) String() string {
	return strconv.FormatBool(v.wait != nil && *v.wait) // pflag calls String on a zero value
}

func (v waitForJobsFlag) Set(s string) error {
	wait, err := strconv.ParseBool(s)
	if err != nil {
		return err
	}
	*v.wait, *v.ignore = wait, !wait
	return nil
}

// IsBoolFlag makes the help print the flag like any boolean one.
func (waitForJobsFlag) IsBoolFlag() bool { return true }

// printOrderUsage is the usage text of --wait in commands that print manifests but do not
// deploy them.
const printOrderUsage = "\"ordered\" [not in stock Helm]: print in the order that the chart declares; other values have no effect"

// isWaitDisabled reports whether the command line contains --wait=false or an equivalent, such
// as --wait=0.
func isWaitDisabled(f *pflag.FlagSet) bool {
	flag := f.Lookup(waitFlagName)
	return flag.Changed && flag.Value.String() == "false"
}

// withWaitCheck returns a check of the arguments that rejects "--wait ordered", which users
// can write by mistake instead of "--wait=ordered". Otherwise it calls next.
func (a *app) withWaitCheck(next cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if orderedAfterBareWait(cmd.Flags(), a.args) {
			return fmt.Errorf("%q parses \"--wait ordered\" as --wait and an argument \"ordered\": "+
				"use --wait=ordered to deploy in order, or --wait=true ordered if the argument is intended", cmd.CommandPath())
		}
		return next(cmd, args)
	}
}

// orderedAfterBareWait reports whether args contains "--wait ordered".
func orderedAfterBareWait(f *pflag.FlagSet, args []string) bool {
	return slices.ContainsFunc(waitArgs(f, args), func(arg waitArg) bool {
		return arg.isBare && arg.next == string(action.WaitStrategyOrdered)
	})
}

// waitArg is an occurrence of --wait on the command line.
type waitArg struct {
	// isBare is true for "--wait" without "=" and a value.
	isBare bool
	// next is the word after it, if any.
	next string
}

// waitArgs returns all occurrences of --wait in args. It knows which flags have values, so that
// it does not mistake the value of another flag for --wait.
func waitArgs(f *pflag.FlagSet, args []string) []waitArg {
	const name = "--" + waitFlagName
	var found []waitArg
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		switch word := args[i]; {
		case word == name, strings.HasPrefix(word, name+"="):
			arg := waitArg{isBare: word == name}
			if i+1 < len(args) {
				arg.next = args[i+1]
			}
			found = append(found, arg)
		case takesNextWord(f, word):
			i++
		}
	}
	return found
}

// takesNextWord reports whether word is a flag, or a group of short flags such as "-gn", whose
// value is the next word.
func takesNextWord(f *pflag.FlagSet, word string) bool {
	if name, long := strings.CutPrefix(word, "--"); long {
		flag := f.Lookup(name) // finds nothing for name=value
		return flag != nil && flag.NoOptDefVal == ""
	}
	shorthands, short := strings.CutPrefix(word, "-")
	if !short {
		return false
	}
	for i := range len(shorthands) {
		flag := f.ShorthandLookup(shorthands[i : i+1])
		if flag == nil {
			return false
		}
		if flag.NoOptDefVal == "" { // the rest of the word, if any, is its value
			return i == len(shorthands)-1
		}
	}
	return false
}

// addReadinessFlag adds the flag --readiness-timeout, which sets timeout. The default is the
// value of $HELM_READINESS_TIMEOUT. The command must call the returned function check before
// it uses timeout.
func addReadinessFlag(f *pflag.FlagSet, timeout *time.Duration) (check func() error) {
	value, envErr := readinessFromEnv()
	f.DurationVar(timeout, readinessFlagName, value, "[not in stock Helm] with --wait=ordered, time to wait for a resource with dependents to become ready, unless its annotation helm.sh/readiness-timeout sets another one (default: until it has made no progress for 10s; Jobs: no limit). Resources without dependents can take until --timeout. Can also be set with $"+readinessEnv)
	return func() error {
		if !f.Changed(readinessFlagName) {
			return envErr
		}
		return checkReadinessFlag(f, *timeout)
	}
}

func checkReadinessFlag(f *pflag.FlagSet, timeout time.Duration) error {
	if f.Changed(readinessFlagName) && timeout <= 0 {
		return fmt.Errorf("--%s %s: must be greater than 0", readinessFlagName, timeout)
	}
	return nil
}

func readinessFromEnv() (time.Duration, error) {
	text := os.Getenv(readinessEnv)
	if text == "" {
		return 0, nil
	}
	value, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("$%s: %w", readinessEnv, err)
	}
	if value <= 0 {
		return 0, fmt.Errorf("$%s: %s: must be greater than 0", readinessEnv, text)
	}
	return value, nil
}
