// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/moby/term"
	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"

	"github.com/ordered-helm/helm/pkg/action"
)

const registryLoginHelp = `
Log in to a registry with a user name and a password, and store them for other commands
in the file $HELM_REGISTRY_CONFIG.

    $ helm registry login example.com --username anna
    $ helm registry login example.com --username ci --password-stdin < password

Helm prompts for missing credentials. If the user name is empty, it prompts for a token.
`

func newRegistryLoginCmd(a *app) *cobra.Command {
	var (
		o         registryOptions
		fromStdin bool
	)
	cmd := &cobra.Command{
		Use:               "login [host]",
		Short:             "log in to a registry",
		Long:              registryLoginHelp,
		Args:              require.MinimumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.readCredentials(&o, fromStdin); err != nil {
				return err
			}
			// The action panics if it cannot read a TLS file, so the files are checked first.
			if _, err := o.tlsConfig(); err != nil {
				return err
			}
			return action.NewRegistryLogin(a.config).Run(a.out, args[0], o.username, o.password,
				action.WithCertFile(o.certFile),
				action.WithKeyFile(o.keyFile),
				action.WithCAFile(o.caFile),
				action.WithInsecure(o.insecure),
				action.WithPlainHTTPLogin(o.plainHTTP))
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.username, "username", "u", "", "user name")
	f.StringVarP(&o.password, "password", "p", "", "password or identity token")
	f.BoolVar(&fromStdin, "password-stdin", false, "read the password or identity token from standard input")
	f.BoolVar(&o.insecure, "insecure", false, "skip TLS certificate checks for the registry (insecure)")
	addRegistryTLSFlags(f, &o)
	return cmd
}

// readCredentials sets the user name and the password in o. If fromStdin is true, it reads the
// password from standard input. Otherwise it prompts for what the flags have not set.
func (a *app) readCredentials(o *registryOptions, fromStdin bool) error {
	var err error
	switch {
	case fromStdin:
		o.password, err = readPassword(a.in)
		return err
	case o.password != "":
		a.warnf("Using --password via the CLI is insecure. Use --password-stdin.")
		return nil
	case o.username == "":
		if o.username, err = a.prompt("Username: "); err != nil {
			return err
		}
		o.username = strings.TrimSpace(o.username)
	}
	what := "password"
	if o.username == "" {
		what = "token"
	}
	if o.password, err = a.promptForSecret(strings.ToUpper(what[:1]) + what[1:] + ": "); err != nil {
		return err
	}
	if o.password == "" {
		return errors.New(what + " required")
	}
	return nil
}

// readPassword reads everything from in, and removes a line break at the end.
func readPassword(in io.Reader) (string, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), nil
}

// prompt prints a question and returns the line that the user enters.
func (a *app) prompt(question string) (string, error) {
	fmt.Fprint(a.out, question)
	line, _, err := bufio.NewReader(a.in).ReadLine()
	return string(line), err
}

// promptForSecret is like prompt, but the terminal does not show what the user enters.
// Standard input must be a terminal. Its settings are restored even if the process is
// interrupted.
func (a *app) promptForSecret(question string) (answer string, err error) {
	terminal := a.in.Fd()
	state, err := term.SaveState(terminal)
	if err != nil {
		fmt.Fprint(a.out, question)
		return "", err
	}
	if err := term.DisableEcho(terminal, state); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, term.RestoreTerminal(terminal, state)) }()
	line, err := a.prompt(question)
	if err != nil {
		return "", err
	}
	fmt.Fprintln(a.out)
	return line, nil
}
