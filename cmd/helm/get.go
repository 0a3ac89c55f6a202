// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/cli/output"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/pkg/action"
)

const getHelp = `
Print stored data of a release: its values, rendered manifest, hooks, notes or
metadata, or all of them.

    $ helm get values shop
    $ helm get manifest shop --revision 3
`

const getAllHelp = `
Print all stored data of a release: status, supplied and computed values, hooks,
manifest and notes.

    $ helm get all shop
    $ helm get all shop --template '{{.Release.Name}} {{.Release.Version}}'
`

const getValuesHelp = `
Print the values that were supplied for a release; with --all, merged with the default
values of the chart.

    $ helm get values shop
    $ helm get values shop --all -o json
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

const getScriptsHelp = `
Print the Lua scripts that a release contains, and for which permissions they ask. A rollback
to this revision runs them, and so does an uninstall of the last revision.

    $ helm get scripts shop
    $ helm get scripts shop --revision 3
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
		newGetScriptsCmd(a),
		newGetValuesCmd(a),
	)
	return cmd
}

func newGetAllCmd(a *app) *cobra.Command {
	var format string
	client := action.NewGet(a.config)
	cmd := a.newReleaseCmd("all", "print all stored data of a release", getAllHelp)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		rel, err := client.RunWithContext(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if format != "" {
			return executeTemplate(a.out, format, map[string]any{"Release": orderrecord.WithoutRecord(rel)})
		}
		return output.Table.Write(a.out, &releasePrinter{release: rel, version: a.versionOf(rel), details: true, chart: true})
	}
	a.addRevisionFlag(cmd, &client.Version)
	cmd.Flags().StringVar(&format, "template", "", "Go template to print the release with, such as {{.Release.Name}}")
	return cmd
}

// newGetTextCmd creates a command that prints one part of a stored release. The function part
// returns the text of that part.
func newGetTextCmd(a *app, name, short, long string, part func(*release.Release) string) *cobra.Command {
	client := action.NewGet(a.config)
	cmd := a.newReleaseCmd(name, short, long)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		rel, err := client.RunWithContext(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		_, err = io.WriteString(a.out, part(rel))
		return err
	}
	a.addRevisionFlag(cmd, &client.Version)
	return cmd
}

func newGetScriptsCmd(a *app) *cobra.Command {
	client := action.NewGet(a.config)
	cmd := a.newReleaseCmd("scripts", "print the scripts of a release [not in stock Helm]", getScriptsHelp)
	cmd.Annotations = map[string]string{additionAnnotation: "true"}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		rel, err := client.RunWithContext(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		text, err := action.ReleaseScripts(rel)
		if err != nil {
			return err
		}
		_, err = io.WriteString(a.out, text)
		return err
	}
	a.addRevisionFlag(cmd, &client.Version)
	return cmd
}

func newGetValuesCmd(a *app) *cobra.Command {
	client := action.NewGetValues(a.config)
	cmd := a.newReleaseCmd("values", "print the values of a release", getValuesHelp)
	a.addRevisionFlag(cmd, &client.Version)
	cmd.Flags().BoolVarP(&client.AllValues, "all", "a", false, "print all computed values")
	out := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		vals, err := client.RunWithContext(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return out.format.Write(a.out, printer{vals, func(out io.Writer) error {
			title := "USER-SUPPLIED VALUES:"
			if client.AllValues {
				title = "COMPUTED VALUES:"
			}
			if _, err := fmt.Fprintln(out, title); err != nil {
				return err
			}
			return output.EncodeYAML(out, vals)
		}})
	}
	return cmd
}

// newReleaseCmd creates a command whose only argument is the name of a release. The caller
// must set its field RunE.
func (a *app) newReleaseCmd(name, short, long string) *cobra.Command {
	return &cobra.Command{
		Use:               name + " RELEASE_NAME",
		Short:             short,
		Long:              long,
		Args:              require.ExactArgs(1),
		ValidArgsFunction: a.completeRelease(),
	}
}

// revision reads a stored revision of the release with the given name. Revision 0 means the
// latest one.
func (a *app) revision(ctx context.Context, name string, revision int) (*release.Release, error) {
	get := action.NewGet(a.config)
	get.Version = revision
	return get.RunWithContext(ctx, name)
}

// hooksText returns the hooks of a release as YAML documents.
func hooksText(rel *release.Release) string {
	var text strings.Builder
	for _, hook := range rel.Hooks {
		text.WriteString(hookText(hook))
	}
	return text.String()
}

// hookText returns a hook as a YAML document, which begins with a comment that names the
// template.
func hookText(hook *release.Hook) string {
	return fmt.Sprintf("---\n# Source: %s\n%s\n", hook.Path, hook.Manifest)
}
