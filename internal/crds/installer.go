// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package crds installs the CustomResourceDefinitions (CRDs) in the crds/ directories of
// charts and in hooks of the event crd-install, and waits until the cluster serves their
// kinds. If the user wants it, it also changes those in crds/ directories.
package crds

import (
	"context"
	"fmt"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/wait"
)

// Config contains what an Installer needs of an operation.
type Config struct {
	Cluster *cluster.Client
	Writer  objectwriter.Writer
	Waiter  wait.Waiter
	// Events receives the events of Apply.
	Events *event.Sink
	// Release is the release that the operation deploys.
	Release object.OwningRelease
	// Log is called with Helm's debug messages.
	Log func(string, ...any)
}

// Installer creates the CRDs of a chart before its other objects, or changes them.
type Installer struct {
	cluster *cluster.Client
	writer  objectwriter.Writer
	waiter  wait.Waiter
	events  *event.Sink
	release object.OwningRelease
	log     func(string, ...any)
}

// NewInstaller returns an Installer.
func NewInstaller(c Config) *Installer {
	return &Installer{cluster: c.Cluster, writer: c.Writer, waiter: c.Waiter, events: c.Events, release: c.Release, log: c.Log}
}

// InstallHooks creates the CRDs in those of the hooks that belong to the event crd-install,
// one hook after the other. It waits until the cluster serves the kinds of each hook, and
// skips hooks whose CRDs already exist.
func (i *Installer) InstallHooks(ctx context.Context, hooks []*release.Hook) error {
	for _, b := range hookorder.Buckets(hookorder.ForEvent(hooks, hookorder.EventCRDInstall), hookorder.ChartModes{}) {
		for _, h := range b.Hooks() {
			began := helmtime.Now()
			created, err := i.Install(ctx, []chart.CRD{{Name: h.Name, File: &chart.File{Name: h.Path, Data: []byte(h.Manifest)}}})
			if err != nil {
				return fmt.Errorf("failed %s: hook %s (%s): %w", hookorder.EventCRDInstall, hookorder.Title(h), h.Path, err)
			}
			if created {
				h.LastRun = release.HookExecution{StartedAt: began, CompletedAt: helmtime.Now(), Phase: release.HookPhaseSucceeded}
			}
		}
	}
	return nil
}

// Install creates the CRDs in files, one file after the other, and then waits until the
// cluster serves their kinds, even if another operation has just created them. It does not
// change CRDs that already exist. created reports whether it created any.
func (i *Installer) Install(ctx context.Context, files []chart.CRD) (created bool, err error) {
	var list kube.ResourceList
	existing := i.existing(ctx, files)
	for n, file := range files {
		if existing[n].established {
			i.log("CRD %s is already present. Skipping.", existing[n].name)
			continue
		}
		built, err := i.cluster.Build(file.File.Data, false)
		var states object.LiveObjects
		if err == nil && existing[n].name == "" {
			states, err = i.writer.Create(ctx, built)
		}
		switch {
		case apierrors.IsAlreadyExists(err), err == nil && existing[n].name != "":
			i.log("CRD %s is already present. Skipping.", built[0].Name)
			list = append(list, built...)
			continue
		case err != nil:
			return false, fmt.Errorf("failed to install CRD %s: %w", file.Name, err)
		}
		created = true
		list = append(list, states.All(built)...)
	}
	if len(list) == 0 {
		return false, nil
	}
	if err := i.waiter.WaitEstablished(ctx, list); err != nil {
		return created, err
	}
	i.log("Clearing discovery cache")
	return created, i.cluster.AwaitKinds(ctx, object.DefinedKinds(list))
}

// existingCRDs says that all CRDs in a file exist.
type existingCRDs struct {
	name        string // the first of them; "" if one does not exist
	established bool   // whether they were created so long ago that the cluster serves their kinds
}

// existing reports for each file whether all CRDs in it exist. Install does not parse files
// whose CRDs are established, which saves time because the files are large.
func (i *Installer) existing(ctx context.Context, files []chart.CRD) []existingCRDs {
	names := make([][]string, len(files))
	for n, file := range files {
		names[n] = cluster.CRDNames(file.File.Data)
	}
	created := i.cluster.ExistingCRDs(ctx, slices.Concat(names...))
	existing := make([]existingCRDs, len(files))
	for n, all := range names {
		if len(all) == 0 || slices.ContainsFunc(all, func(name string) bool { return created[name].IsZero() }) {
			continue
		}
		recent := slices.ContainsFunc(all, func(name string) bool { return time.Since(created[name]) < wait.EstablishTimeout })
		existing[n] = existingCRDs{name: all[0], established: !recent}
	}
	return existing
}
