// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/plugin"

	"github.com/ordered-helm/helm/internal/terminalsafe"
	"github.com/ordered-helm/helm/pkg/action"
)

// app holds what all commands share: the settings, the configuration of the actions, and the
// input and output. There is one app for each run of the program.
type app struct {
	settings *cli.EnvSettings
	config   *action.Configuration

	// plugins contains the plugins that were installed when the program started.
	plugins []*plugin.Plugin

	// args are the command-line arguments after the program name, as typed.
	args []string

	// in is standard input. It is a file instead of a reader, because prompts for passwords
	// change the settings of the terminal.
	in     *os.File
	out    io.Writer
	errOut io.Writer
}

// run executes the command in args and returns the exit code.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	a := &app{
		settings: cli.New(),
		config:   new(action.Configuration),
		args:     args,
		in:       os.Stdin,
		out:      out,
		errOut:   errOut,
	}
	action.RetryRequests(a.settings.RESTClientGetter())
	if err := newRootCmd(a).ExecuteContext(ctx); err != nil { //nolint:contextcheck // the commands receive the context from cobra
		a.debugf("%+v", err)
		return exitCode(err)
	}
	return 0
}

// debugf prints to the standard logger if --debug is set. It is an action.DebugLog, and is
// safe for concurrent use.
func (a *app) debugf(format string, v ...any) {
	if !a.settings.Debug {
		return
	}
	const callerOfDebugf = 2
	// The error is ignored, because there is nowhere to report it.
	_ = log.Output(callerOfDebugf, fmt.Sprintf("%s [debug] %s\n", time.Now(), fmt.Sprintf(format, v...)))
}

// warnf prints a warning to standard error.
func (a *app) warnf(format string, v ...any) {
	fmt.Fprint(a.errOut, terminalsafe.Sanitize(fmt.Sprintf("WARNING: "+format+"\n", v...)))
}

// notef prints a note: something that the user may want to know, although nothing is wrong.
func (a *app) notef(format string, v ...any) {
	fmt.Fprint(a.errOut, terminalsafe.Sanitize(fmt.Sprintf("NOTE: "+format+"\n", v...)))
}

// warnIfNotPrinted prints a warning if err, from printing the result of an operation, is not
// nil. As in Helm, the command does not fail then: otherwise, users would repeat an operation
// that has already succeeded.
func (a *app) warnIfNotPrinted(err error) {
	if err != nil {
		a.warnf("the operation succeeded, but its result cannot be printed: %v", err)
	}
}

// connect prepares a.config for requests to a cluster and to registries, without sending any.
// The global flags must already have been parsed.
func (a *app) connect() error {
	client, err := a.newRegistryClient(registryOptions{})
	if err != nil {
		return err
	}
	a.config.RegistryClient = client

	storageDriver := os.Getenv("HELM_DRIVER")
	if err := action.InitConfiguration(a.config, a.settings.RESTClientGetter(), a.settings.Namespace(), storageDriver, a.debugf); err != nil {
		return err
	}
	if storageDriver == "memory" {
		if err := a.loadMemoryReleases(); err != nil {
			return err
		}
	}
	a.config.SetHookOutputFunc(func(_, _, _ string) io.Writer { return a.errOut })
	return nil
}
