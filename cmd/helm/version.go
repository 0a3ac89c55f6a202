// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/chartutil"
)

const versionHelp = `
Print the version of Ordered Helm and of stock Helm: v3.22.0+ordered.1.4.0 is version 1.4.0
of Ordered Helm, which is compatible with version v3.22.0 of stock Helm.

    $ helm version
    $ helm version --short
    $ helm version --template '{{.Version}} built with {{.GoVersion}}'

A template can use .Version, .GitCommit, .GitTreeState ("clean", or "dirty" for a build
with local changes) and .GoVersion.
`

func newVersionCmd(a *app) *cobra.Command {
	var (
		short  bool
		format string
	)
	cmd := &cobra.Command{
		Use:               "version",
		Short:             "print the version of this program",
		Long:              versionHelp,
		Args:              require.NoArgs,
		ValidArgsFunction: noMoreArguments,
		RunE: func(*cobra.Command, []string) error {
			return a.printVersion(short, format)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&short, "short", false, "print only the version number")
	f.StringVar(&format, "template", "", "Go template to print the version with")
	f.BoolP("client", "c", true, "accepted for compatibility with Helm 2; has no effect")
	f.Lookup("client").Hidden = true
	return cmd
}

// orderedVersion is the version of Ordered Helm without a leading "v". The linker sets it.
var orderedVersion string

// ownVersion returns the version of Ordered Helm without a leading "v". If the linker has not
// set it, for example with "go install", this is the version of the Go module.
func ownVersion() string {
	if orderedVersion != "" {
		return orderedVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") {
		return strings.ReplaceAll(info.Main.Version[1:], "+", ".")
	}
	return "0.0.0-dev"
}

func (a *app) printVersion(short bool, format string) error {
	// The version that charts see is not changed, because many charts write it into labels,
	// which must not contain "+".
	build := chartutil.DefaultCapabilities.HelmVersion
	build.Version += "+ordered." + ownVersion()
	const shortCommit = 7
	var err error
	switch {
	case format != "":
		err = executeTemplate(a.out, format, build)
	case !short:
		_, err = fmt.Fprintf(a.out, "%#v\n", build)
	case len(build.GitCommit) >= shortCommit:
		_, err = fmt.Fprintf(a.out, "%s.g%s\n", build.Version, build.GitCommit[:shortCommit])
	default:
		_, err = fmt.Fprintln(a.out, build.Version)
	}
	return err
}

// executeTemplate executes the Go template in text, which the user has specified, with data.
func executeTemplate(out io.Writer, text string, data any) error {
	tmpl, err := template.New("_").Parse(text)
	if err != nil {
		return err
	}
	return tmpl.Execute(out, data)
}
