// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/moby/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ordered-helm/helm/pkg/action"
)

// addScriptFlags adds the flags that say which permissions the scripts of charts get. Without them, the
// user is asked at the terminal.
func (a *app) addScriptFlags(cmd *cobra.Command, options *action.ScriptOptions) {
	addScriptFlags(cmd, options, &permissionQuestion{in: a.in, out: a.errOut})
}

// addScriptFlags is like the method of app. q asks the user.
func addScriptFlags(cmd *cobra.Command, options *action.ScriptOptions, q *permissionQuestion) {
	f := cmd.Flags()
	f.StringSliceVar(&options.AcceptPermissions, "accept-perms", nil, "[not in stock Helm] permissions that the scripts of charts can have (network, filesystem, environment, cluster); a chart that asks for more is refused")
	f.BoolVarP(&q.acceptsAll, "yes", "y", false, "[not in stock Helm] accept all permissions for which the scripts of charts ask")
	cmd.MarkFlagsMutuallyExclusive("accept-perms", "yes")
	options.AskPermissions = q.ask
}

// addNoScriptsFlag adds the flag that disables the scripts of a stored release.
func addNoScriptsFlag(f *pflag.FlagSet, disabled *bool) {
	f.BoolVar(disabled, "no-scripts", false, "[not in stock Helm] do not run the scripts of the release")
}

// permissionQuestion asks at the terminal whether a chart gets the permissions for which it asks.
type permissionQuestion struct {
	acceptsAll bool
	// in is the terminal; nil if nobody is asked.
	in *os.File
	// out is standard error as it is before the progress of an operation is shown.
	out io.Writer
}

// ask implements action.ScriptOptions.AskPermissions. Without a terminal, nobody can be asked.
func (q *permissionQuestion) ask(ctx context.Context, r action.ScriptPermissionRequest) (bool, error) {
	if q.acceptsAll {
		return true, nil
	}
	out, isFile := q.out.(*os.File)
	if q.in == nil || !isFile || !term.IsTerminal(q.in.Fd()) || !term.IsTerminal(out.Fd()) {
		return false, &action.ScriptPermissionError{PermissionRequest: r}
	}
	if _, err := fmt.Fprintf(q.out, "%sAllow? (y, yes, n, no) > ", r); err != nil {
		return false, err
	}
	answer, err := readLine(ctx, q.in)
	if !strings.HasSuffix(answer, "\n") {
		_, _ = fmt.Fprintln(q.out) // end the line of the question
	}
	if err != nil {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// readLine reads a line from a terminal, with the line break unless the input ends first. If ctx ends first, the
// read goes on, because nothing can interrupt it, and the program must exit.
func readLine(ctx context.Context, terminal io.Reader) (string, error) {
	type result struct {
		line string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		line, err := bufio.NewReader(terminal).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		done <- result{line, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
