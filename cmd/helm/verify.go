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
Verify the signature of a packaged chart, and print who signed it.

The signature is in a provenance file in the same directory, which "helm package --sign"
writes. The public key of the signer must be in the keyring.

    $ helm verify shop-1.2.3.tgz --keyring ~/.gnupg/pubring.gpg

Commands that download charts also verify signatures, with --verify.
`

func newVerifyCmd(a *app) *cobra.Command {
	client := action.NewVerify()
	cmd := &cobra.Command{
		Use:               "verify PATH",
		Short:             "verify the signature of a packaged chart",
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
	cmd.Flags().StringVar(&client.Keyring, "keyring", defaultKeyring(), "file with the public keys for verifying the signature")
	return cmd
}
