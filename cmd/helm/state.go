// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

const stateHelp = `
Manage where releases are stored in the cluster.

    $ helm state init       install the definitions of releases as Kubernetes objects
    $ helm state migrate    move releases to another storage driver
    $ helm state status     show where releases are stored, and what they own
`

func newStateCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "manage where releases are stored [not in stock Helm]",
		Long:  stateHelp,
		// A plugin of the same name replaces this command.
		Annotations: map[string]string{additionAnnotation: "true"},
	}
	cmd.AddCommand(newStateInitCmd(a), newStateMigrateCmd(a), newStateStatusCmd(a))
	return cmd
}
