// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/pkg/action"
)

const templateHelp = `
Render a chart's templates and print the result, without a cluster.

    $ helm template ./shop
    $ helm template shop ./shop -f production.yaml --namespace shop
    $ helm template ./shop --show-only templates/web.yaml
    $ helm template ./shop --show-only 'charts/*/templates/*.yaml'
    $ helm template ./shop --output-dir ./rendered
    $ helm template ./shop --kube-version 1.33 --api-versions monitoring.coreos.com/v1
    $ helm template ./shop --wait=ordered
    $ helm template ./shop --sequence-as argocd

The lookup function returns nothing. With --validate the cluster validates the result, as in
an installation. Hooks are printed last; "helm dag" shows which of them run in parallel, in
charts with runHooksInParallel in Chart.yaml.

With --wait=ordered the other resources are printed in the order in which they deploy, each
layer between comments: "## START layer: shop database" and "## END layer: shop database".
These comments are omitted in the files of --output-dir and with --show-only.

--sequence-as argocd adds the order as annotations of Argo CD: sync waves are the batches
of "helm dag", and hooks become Argo CD hooks; hooks that run sequentially get waves of
their own. It implies --wait=ordered, but omits the comments.
`

const sequenceAsFlagName = "sequence-as"

// templateOptions holds the flags of template that install does not have.
type templateOptions struct {
	capabilities capabilityFlags
	validate     bool
	skipTests    bool
	showOnly     []string
	sequenceAs   string
}

func newTemplateCmd(a *app) *cobra.Command {
	in := newInstallActionInput(a)
	var opts templateOptions
	cmd := &cobra.Command{
		Use:               "template [NAME] [CHART]",
		Short:             "render a chart's templates",
		Long:              templateHelp,
		Args:              a.withWaitCheck(require.MinimumNArgs(1)),
		ValidArgsFunction: in.completeChart,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.template(cmd.Context(), in, &opts, args)
		},
	}
	f := cmd.Flags()
	in.addFlags(cmd)
	f.Lookup(waitFlagName).Usage = printOrderUsage
	f.Lookup(readinessFlagName).Hidden = true
	f.StringArrayVarP(&opts.showOnly, "show-only", "s", nil, "print only the output of this template: a path in the chart, or a pattern; can be repeated")
	f.StringVar(&in.client.OutputDir, "output-dir", "", "write the result to files in this directory")
	f.BoolVar(&opts.validate, "validate", false, "have the cluster validate the manifests, as in an installation")
	f.BoolVar(&in.client.IncludeCRDs, "include-crds", false, "also print the CustomResourceDefinitions (CRDs) of the chart")
	f.BoolVar(&opts.skipTests, "skip-tests", false, "omit tests")
	f.BoolVar(&in.client.IsUpgrade, "is-upgrade", false, "render as for an upgrade: .Release.IsUpgrade is true and .Release.IsInstall is false")
	opts.capabilities.add(f)
	f.BoolVar(&in.client.UseReleaseName, "release-name", false, "add the name of the release to the path in --output-dir")
	f.StringVar(&opts.sequenceAs, sequenceAsFlagName, "", "[not in stock Helm] add the order as annotations of another program: argocd")
	completeFlag(cmd, sequenceAsFlagName, cobra.FixedCompletions([]cobra.Completion{string(action.ArrangeArgoCD)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) template(ctx context.Context, in *installActionInput, opts *templateOptions, args []string) error {
	client := in.client
	if err := opts.capabilities.apply(client); err != nil {
		return err
	}
	if err := a.setRegistry(&client.ChartPathOptions, client.SetRegistryClient); err != nil {
		return err
	}
	if client.DryRunOption == "" {
		client.DryRunOption = "true"
	}
	in.progress = warningsOnly()
	client.DryRun = true
	client.Replace = true // do not check whether the release name is in use
	client.ClientOnly = !opts.validate
	client.ReleaseName = "release-name"
	if err := opts.setArrangement(client); err != nil {
		return err
	}

	rel, runErr := in.run(ctx, args)
	if runErr != nil && !a.settings.Debug {
		if rel != nil {
			return fmt.Errorf("%w\n\nUse --debug flag to render out invalid YAML", runErr)
		}
		return runErr
	}
	// With --debug, the rendered output is printed even if it is invalid.
	if rel != nil {
		if err := a.printRendered(client, opts, rel); err != nil {
			return err
		}
	}
	return runErr
}

// setArrangement sets the field Arrange of the action, which says how the order is printed.
func (opts *templateOptions) setArrangement(client *action.Install) error {
	switch action.Arrangement(opts.sequenceAs) {
	case action.ArrangeStock:
		if client.WaitStrategy == action.WaitStrategyOrdered {
			client.Arrange = action.ArrangeOrdered
		}
		return nil
	case action.ArrangeArgoCD:
		client.WaitStrategy, client.Arrange = action.WaitStrategyOrdered, action.ArrangeArgoCD
		return nil
	}
	return fmt.Errorf("invalid --%s %q: must be %q", sequenceAsFlagName, opts.sequenceAs, action.ArrangeArgoCD)
}

// printRendered prints the manifest and the hooks of a rendered release or, with
// --show-only, the selected documents of them.
func (a *app) printRendered(client *action.Install, opts *templateOptions, rel *release.Release) error {
	var text bytes.Buffer
	fmt.Fprintln(&text, strings.TrimSpace(rel.Manifest))

	if !client.DisableHooks {
		dir := client.OutputDir
		if dir != "" && client.UseReleaseName {
			dir = filepath.Join(dir, client.ReleaseName)
		}
		for _, hook := range rel.Hooks {
			if opts.skipTests && isTest(hook) {
				continue
			}
			if dir == "" {
				text.WriteString(hookText(hook))
			} else if err := a.writeHook(dir, hook); err != nil {
				return err
			}
		}
	}
	if len(opts.showOnly) > 0 {
		selected, err := selectDocuments(text.String(), opts.showOnly)
		if err != nil {
			return err
		}
		text.Reset()
		for _, document := range selected {
			fmt.Fprintf(&text, "---\n%s\n", withoutMarkers(client, document))
		}
	}
	_, err := text.WriteTo(a.out)
	return err
}

// withoutMarkers removes the comments that mark the start and end of layers from a document
// that --show-only selects. They would be wrong, because only some documents of a layer are
// printed.
func withoutMarkers(client *action.Install, document string) string {
	if client.Arrange == action.ArrangeOrdered {
		return action.WithoutMarkers(document)
	}
	return document
}

// writeHook appends a hook to the file of its template in dir. The file can already contain
// other documents that the same template has rendered.
func (a *app) writeHook(dir string, hook *release.Hook) error {
	path := dir + string(filepath.Separator) + hook.Path
	const (
		dirMode  = 0o755
		fileMode = 0o666
	)
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	_, err = file.WriteString(hookText(hook))
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "wrote %s\n", path)
	return err
}
