// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/releasecrds"
	"github.com/ordered-helm/helm/internal/terminalsafe"
)

const stateInitHelp = `
Install the definitions of releases as Kubernetes objects (CustomResourceDefinitions), which
HELM_DRIVER=crd needs, or update them if they are older than this version of Helm. Newer
definitions are left alone. The command waits until the cluster serves the new kinds. It can
be repeated.

    $ helm state init                       install or update the definitions
    releases.helm.sh created
    releaseversions.helm.sh created
    $ kubectl get releases.helm.sh
    $ helm state init --dry-run             print the definitions as YAML
    $ helm state init --chart ./helm-state  write a chart of them, with roles for those who
                                            may see releases and those who may change them

Definitions are cluster-scoped, so installing them takes the permissions of an administrator.
With --dry-run and --chart, the command needs no cluster.

To manage the definitions with other charts, install the chart that --chart writes, with
another storage driver than crd. While there are releases as Kubernetes objects, that chart
cannot be uninstalled. It never deletes the definitions. To delete them when there are no
such releases:

    $ kubectl delete customresourcedefinitions releases.helm.sh releaseversions.helm.sh
`

type stateInitOptions struct {
	dryRun  bool
	chart   string
	timeout time.Duration
}

func newStateInitCmd(a *app) *cobra.Command {
	var o stateInitOptions
	cmd := &cobra.Command{
		Use:               "init",
		Short:             "install or update the definitions of releases [not in stock Helm]",
		Long:              stateInitHelp,
		Annotations:       map[string]string{additionAnnotation: "true"},
		Args:              require.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.dryRun:
				definitions, err := releasecrds.YAML()
				if err == nil {
					_, err = a.out.Write(definitions)
				}
				return err
			case cmd.Flags().Changed("chart"):
				return a.writeStateChart(o.chart)
			}
			return a.stateInit(cmd.Context(), o.timeout)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.dryRun, "dry-run", false, "print the definitions as YAML instead of installing them")
	f.StringVar(&o.chart, "chart", "", "write a chart of the definitions and the roles to this `directory` instead of installing them")
	f.DurationVar(&o.timeout, "timeout", defaultInitTimeout, "how long to wait until the cluster serves the definitions")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "chart")
	return cmd
}

const defaultInitTimeout = 5 * time.Minute

func (a *app) writeStateChart(directory string) error {
	if directory == "" {
		return errors.New("--chart needs the name of a directory")
	}
	if err := releasecrds.WriteChart(directory); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.out, "Wrote %s\n", directory)
	return err
}

// stateInit installs the definitions, and prints what it has done with each.
func (a *app) stateInit(ctx context.Context, timeout time.Duration) error {
	config, err := a.settings.RESTClientGetter().ToRESTConfig()
	if err != nil {
		return fmt.Errorf("Kubernetes cluster unreachable: %w", err) //nolint:staticcheck // the message of other commands
	}
	if config.QPS == 0 { // the limit of the default is an error shortly before the timeout
		config.QPS = -1
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timed out after %s", timeout))
	defer cancel()
	results, err := releasecrds.Install(ctx, client)
	for _, result := range results {
		if err := printInitResult(terminalsafe.NewWriter(a.out), result); err != nil {
			return err
		}
	}
	return err
}

func printInitResult(out io.Writer, r releasecrds.Result) error {
	line := r.Name + " " + string(r.Outcome)
	switch {
	case r.Outcome == releasecrds.Newer:
		line = fmt.Sprintf("%s left alone: its version %d is newer than version %d of this helm", r.Name, r.Before, releaseapi.DefinitionsVersion)
	case r.Outcome == releasecrds.Updated && r.Before != releaseapi.DefinitionsVersion:
		line += fmt.Sprintf(" from version %d to %d", r.Before, releaseapi.DefinitionsVersion)
	}
	if r.ManagedBy != "" && r.Outcome == releasecrds.Updated {
		line += fmt.Sprintf("; upgrade release %s, which contains it, with the chart that --chart writes", r.ManagedBy)
	}
	_, err := fmt.Fprintln(out, line)
	return err
}
