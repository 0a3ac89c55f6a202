// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/pkg/action"
)

const getHelp = `
Print stored data of a release: its values, rendered manifest, hooks, notes or
metadata, or all of them.

    $ helm get values shop
    $ helm get manifest shop --revision 3
`

const getHooksHelp = `
Print the hooks of a release as YAML documents.

    $ helm get hooks shop
`

const getManifestHelp = `
Print the manifest of a release: the YAML of every resource that its chart and
subcharts rendered, except hooks.

    $ helm get manifest shop
    $ helm get manifest shop --revision 3 | kubectl diff -f -
`

const getNotesHelp = `
Print the notes of a release, which its chart provides for its users.

    $ helm get notes shop
`

func newGetCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get",
		Short: "print stored data of a release",
		Long:  getHelp,
		Args:  require.NoArgs,
	}
	cmd.AddCommand(
		newGetAllCmd(a),
		newGetTextCmd(a, "hooks", "print the hooks of a release", getHooksHelp, hooksText),
		newGetTextCmd(a, "manifest", "print the manifest of a release", getManifestHelp, func(rel *release.Release) string {
			return rel.Manifest + "\n"
		}),
		newGetMetadataCmd(a),
		newGetTextCmd(a, "notes", "print the notes of a release", getNotesHelp, func(rel *release.Release) string {
			if rel.Info.Notes == "" {
				return ""
			}
			return fmt.Sprintf("NOTES:\n%s\n", rel.Info.Notes)
		}),
		newGetValuesCmd(a),
	)
	return cmd
}

// newGetTextCmd creates a command that prints the part of a stored release that the
// function part returns.
func newGetTextCmd(a *app, name, short, long string, part func(*release.Release) string) *cobra.Command {
	client := action.NewGet(a.config)
	cmd := &cobra.Command{
		Use:               name + " RELEASE_NAME",
		Short:             short,
		Long:              long,
		Args:              require.ExactArgs(1),
		ValidArgsFunction: a.completeRelease(),
		RunE: func(_ *cobra.Command, args []string) error {
			rel, err := client.Run(args[0])
			if err != nil {
				return err
			}
			_, err = io.WriteString(a.out, part(rel))
			return err
		},
	}
	a.addRevisionFlag(cmd, &client.Version)
	return cmd
}

func (a *app) addRevisionFlag(cmd *cobra.Command, revision *int) {
	cmd.Flags().IntVar(revision, "revision", 0, "revision of the release (default: the latest)")
	completeFlag(cmd, "revision", a.completeRevisions)
}

// hooksText returns the hooks of a release as YAML documents.
func hooksText(rel *release.Release) string {
	var text strings.Builder
	for _, hook := range rel.Hooks {
		text.WriteString(hookText(hook))
	}
	return text.String()
}

// hookText returns a hook as a YAML document. A comment names its template.
func hookText(hook *release.Hook) string {
	return fmt.Sprintf("---\n# Source: %s\n%s\n", hook.Path, hook.Manifest)
}
