// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/releaseobjects"
	"github.com/ordered-helm/helm/internal/statemigration"
	"github.com/ordered-helm/helm/internal/storagedriver"
	"github.com/ordered-helm/helm/internal/terminalsafe"
)

const stateMigrateHelp = `
Move releases, with their histories, from one storage driver (HELM_DRIVER) to another. The
resources of the releases are not changed, except for their owner references.

    $ helm state migrate shop --from secret --to crd
    shop moved from secret to crd: 3 revisions
    $ helm state migrate --all --from configmap --to chunked-secret

The old revisions are deleted only after all of them were read back from the new storage. In
the meantime, neither Ordered Helm nor stock Helm can change the release. If the command is
interrupted, run it again: it continues where it stopped. Afterwards, use HELM_DRIVER with the
new driver.

The driver crd needs the definitions that "helm state init" installs.
`

type stateMigrateOptions struct {
	from, to string
	all      bool
}

func newStateMigrateCmd(a *app) *cobra.Command {
	var o stateMigrateOptions
	cmd := &cobra.Command{
		Use:         "migrate [RELEASE...]",
		Short:       "move releases to another storage driver [not in stock Helm]",
		Long:        stateMigrateHelp,
		Annotations: map[string]string{additionAnnotation: "true"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			return a.stateMigrate(cmd.Context(), &o, args)
		},
	}
	f := cmd.Flags()
	drivers := strings.Join(storagedriver.Names(), ", ")
	f.StringVar(&o.from, "from", "", "storage `driver` that stores the releases: "+drivers)
	f.StringVar(&o.to, "to", "", "storage `driver` to which they are moved: "+drivers)
	f.BoolVar(&o.all, "all", false, "move all releases in the namespace")
	for _, name := range []string{"from", "to"} {
		_ = cmd.MarkFlagRequired(name)
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(storagedriver.Names(), cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

// check returns an error if the flags and arguments contradict each other.
func (o *stateMigrateOptions) check(releases []string) error {
	o.from, o.to = storagedriver.Normalize(o.from), storagedriver.Normalize(o.to)
	for _, name := range []string{o.from, o.to} {
		if !slices.Contains(storagedriver.Names(), name) {
			return fmt.Errorf("unknown storage driver %q: must be one of %s", name, strings.Join(storagedriver.Names(), ", "))
		}
	}
	switch {
	case o.from == o.to:
		return errors.New("--from and --to name the same storage driver")
	case o.all && len(releases) > 0:
		return errors.New("give either names of releases or --all")
	case !o.all && len(releases) == 0:
		return errors.New("give the names of the releases to move, or --all")
	}
	return nil
}

// stateMigrate moves releases. A failure does not prevent the others from being moved.
func (a *app) stateMigrate(ctx context.Context, o *stateMigrateOptions, names []string) error {
	objects, err := a.releaseOwners()
	if err != nil {
		return err
	}
	from, to := a.migrationStorage(o.from), a.migrationStorage(o.to)
	if o.all {
		if names, err = statemigration.Releases(ctx, from); err != nil {
			return err
		}
	}
	var errs []error
	for _, name := range names {
		m := &statemigration.Migration{
			Release: name, Namespace: a.settings.Namespace(), From: from, To: to, Objects: objects, Log: a.debugf,
			Events: event.NewSink(a.printWarning, nil),
		}
		result, err := m.Run(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		} else if err := a.printMigrated(m, result); err != nil {
			return err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

func (a *app) printWarning(e event.Event) {
	if e.Type == event.Warning {
		a.warnf("%s", e.Message)
	}
}

func (a *app) printMigrated(m *statemigration.Migration, r *statemigration.Result) error {
	revisions := "1 revision"
	if r.Revisions != 1 {
		revisions = fmt.Sprintf("%d revisions", r.Revisions)
	}
	line := fmt.Sprintf("%s moved from %s to %s: %s", m.Release, m.From.Name, m.To.Name, revisions)
	switch r.Outcome {
	case statemigration.AlreadyMoved:
		line = fmt.Sprintf("%s is already stored by %s: %s", m.Release, m.To.Name, revisions)
	case statemigration.InPlace:
		line = fmt.Sprintf("%s stays where it is: %s can read the Secrets of %s: %s", m.Release, m.To.Name, m.From.Name, revisions)
	}
	_, err := fmt.Fprintln(terminalsafe.NewWriter(a.out), line)
	return err
}

// migrationStorage returns the storage of a driver, for moving releases.
func (a *app) migrationStorage(name string) statemigration.Storage {
	return statemigration.Storage{Name: name, Open: func() (driver.Driver, error) {
		cfg := new(helmaction.Configuration)
		err := storagedriver.Init(cfg, storagedriver.Options{
			Driver: name, Getter: a.settings.RESTClientGetter(), Namespace: a.settings.Namespace(), Migration: true, Log: a.debugf,
		})
		if err != nil {
			return nil, err
		}
		return cfg.Releases.Driver, nil
	}}
}

// releaseOwners returns what finds the objects of the releases in the namespace.
func (a *app) releaseOwners() (*releaseobjects.Owners, error) {
	getter := a.settings.RESTClientGetter()
	connection := cluster.Connect(getter, a.debugf)
	config, err := getter.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("Kubernetes cluster unreachable: %w", err) //nolint:staticcheck // the message of other commands
	}
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{} // of deprecated kinds, all of which are listed
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	kinds, err := getter.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	return &releaseobjects.Owners{
		Cluster: cluster.New(kube.New(getter), connection), Kinds: kinds, Metadata: client, Namespace: a.settings.Namespace(),
	}, nil
}
