// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/ordered-helm/helm/internal/driftprinter"
	"github.com/ordered-helm/helm/internal/ignorefile"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/pkg/action"
)

const ignoreFlagName = "ignore"

const driftHelp = `
Print in which fields the objects of releases differ in the cluster from what their
deployed revisions declare, with the values, and with the client that has set each field
and the time, where the server knows them. Objects that are gone are listed, too.

    $ helm drift shop
    $ helm drift shop billing -o json
    $ helm drift --all
    $ helm drift --all --all-namespaces
    $ helm drift shop --ignore drift.yaml

Only fields that the revision declares are compared. Defaults of the server, the status of
objects, the replicas that an autoscaler has set, and the CA bundles of webhooks do not
count. --ignore names a file with rules about other differences that do not count. Hooks,
and Jobs that ttlSecondsAfterFinished has removed, are not compared.

Nothing is changed. The objects are read with one list request for each kind and namespace.
The values of Secrets are masked, even in other objects.

EXIT CODES

    0    all objects are as declared
    2    objects differ or are missing
    1    a release or an object cannot be compared, for example because its kind is gone or
         may not be read; the others are compared nevertheless
`

func newDriftCmd(a *app) *cobra.Command {
	var o driftOptions
	cmd := &cobra.Command{
		Use:   "drift [RELEASE...]",
		Short: "print what differs in the cluster from what a release declares [not in stock Helm]",
		Long:  driftHelp,
		// A plugin of the same name replaces this command.
		Annotations:       map[string]string{additionAnnotation: "true"},
		Args:              func(_ *cobra.Command, args []string) error { return o.check(args) },
		ValidArgsFunction: a.completeReleases,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := a.drift(cmd.Context(), args, &o)
			_, cmd.SilenceErrors = errors.AsType[*silentExitError](err)
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.all, "all", false, "compare all deployed releases of the namespace")
	f.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "with --all, compare the releases of all namespaces")
	addIgnoreFlag(cmd, &o.ignore, "a local file with rules about differences that do not count")
	outputChoiceFlag("how the differences are printed", []string{"text", "json"}, "for people", "for other programs").add(cmd, &o.format)
	return cmd
}

// driftOptions holds the flags of drift.
type driftOptions struct {
	all, allNamespaces bool
	ignore             *action.IgnoreFile
	format             string
}

func (o *driftOptions) check(args []string) error {
	switch {
	case len(args) == 0 && !o.all:
		return errors.New("name a release, or use --all")
	case len(args) > 0 && o.all:
		return errors.New("--all compares all releases: omit their names")
	case o.allNamespaces && !o.all:
		return errors.New("--all-namespaces requires --all")
	}
	return nil
}

// driftOutput is what "helm drift -o json" prints.
type driftOutput struct {
	// Drifted says whether any release has drifted.
	Drifted  bool            `json:"drifted"`
	Releases []*action.Drift `json:"releases"`
}

// drift compares releases and prints the result. It returns a silentExitError with the exit code,
// unless that is 0 or there is an error to print.
func (a *app) drift(ctx context.Context, names []string, o *driftOptions) error {
	releases, err := a.releasesToCompare(ctx, names, o)
	if err != nil {
		return err
	}
	output := driftOutput{Releases: []*action.Drift{}}
	var errs []error
	for _, r := range releases {
		report, err := a.driftOf(ctx, r, o.ignore)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("release %s: %w", r.Release, err))
		}
		if report == nil {
			r.Objects, r.Error, report = []action.DriftedObject{}, err.Error(), r
		}
		output.Releases, output.Drifted = append(output.Releases, report), output.Drifted || report.Drifted
	}
	if len(errs) == 0 {
		a.warnOfUnmatchedRules(o.ignore)
	}
	if o.format == "json" {
		err = text.WriteJSON(a.out, output)
	} else {
		err = driftprinter.Text(a.out, output.Releases)
	}
	switch {
	case err != nil:
		return err
	case len(errs) > 0:
		return errors.Join(errs...)
	case output.Drifted:
		return &silentExitError{changesCode}
	}
	return nil
}

// releasesToCompare returns the names and namespaces of the releases to compare.
func (a *app) releasesToCompare(ctx context.Context, names []string, o *driftOptions) ([]*action.Drift, error) {
	var releases []*action.Drift
	for _, name := range names {
		releases = append(releases, &action.Drift{Release: name, Namespace: a.settings.Namespace()})
	}
	if !o.all {
		return releases, nil
	}
	config := *a.config
	if o.allNamespaces {
		if err := action.InitConfiguration(&config, a.settings.RESTClientGetter(), "", os.Getenv("HELM_DRIVER"), a.debugf); err != nil {
			return nil, err
		}
	}
	client := action.NewList(&config)
	client.Deployed, client.Limit, client.AllNamespaces = true, 0, o.allNamespaces
	client.SetStateMask()
	deployed, err := client.RunWithContext(ctx)
	if err != nil {
		return nil, err
	}
	for _, rel := range deployed {
		releases = append(releases, &action.Drift{Release: rel.Name, Namespace: rel.Namespace})
	}
	return releases, nil
}

// driftOf compares a release, of which r contains the name and namespace.
func (a *app) driftOf(ctx context.Context, r *action.Drift, ignore *action.IgnoreFile) (*action.Drift, error) {
	config := a.config
	if r.Namespace != a.settings.Namespace() {
		a.settings.SetNamespace(r.Namespace)
		config = new(action.Configuration)
		if err := action.InitConfiguration(config, a.settings.RESTClientGetter(), r.Namespace, os.Getenv("HELM_DRIVER"), a.debugf); err != nil {
			return nil, err
		}
		a.config = config
	}
	client := action.NewFindDrift(config)
	client.Ignore = ignore
	return client.RunWithContext(ctx, r.Release)
}

// warnOfUnmatchedRules prints a warning for each rule of an ignore file that matches no object.
func (a *app) warnOfUnmatchedRules(f *action.IgnoreFile) {
	for _, message := range f.Unmatched() {
		a.warnf("%s", message)
	}
}

// addIgnoreFlag adds the flag --ignore, which sets file.
func addIgnoreFlag(cmd *cobra.Command, file **action.IgnoreFile, usage string) {
	flag := &localFileFlag{what: "an ignore file", maxSize: ignorefile.MaxSize, use: func(path string, content []byte) (err error) {
		*file, err = action.ParseIgnoreFile(path, content)
		return err
	}}
	flag.add(cmd, ignoreFlagName, usage)
}
