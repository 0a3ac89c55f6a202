// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"

	"github.com/ordered-helm/helm/pkg/action"
)

const verifyHelp = `
Check that a packaged chart is the one that was signed, and by whom.

The signature is in a provenance file beside the package, as "helm package
--sign" writes it. The signer's public key must be in the keyring.

    $ helm verify shop-1.2.3.tgz --keyring ~/.gnupg/pubring.gpg

Commands that fetch charts check signatures as well, with --verify.
`

func newVerifyCmd(a *app) *cobra.Command {
	client := action.NewVerify()
	cmd := &cobra.Command{
		Use:               "verify PATH",
		Short:             "check the signature of a packaged chart",
		Long:              verifyHelp,
		Args:              require.ExactArgs(1),
		ValidArgsFunction: completeFile(),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := client.Run(args[0]); err != nil {
				return err
			}
			_, err := fmt.Fprint(a.out, client.Out)
			return err
		},
	}
	cmd.Flags().StringVar(&client.Keyring, "keyring", defaultKeyring(), "file with the public keys that the signature is checked with")
	return cmd
}
