// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package crds installs the CRDs that charts have in their crds/ directories and in hooks
// of the event crd-install, and waits until the cluster serves the kinds that they define.
package crds

import (
	"context"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/wait"
)

// Installer installs the CRDs of a chart before its other objects.
type Installer struct {
	Cluster *cluster.Client
	Writer  objectwriter.Writer
	Waiter  wait.Waiter
	Log     func(string, ...any)
}

// InstallHooks creates the CRDs in hooks of the event crd-install that do not exist yet,
// and waits until the cluster serves their kinds.
func (i *Installer) InstallHooks(ctx context.Context, hooks []*release.Hook) error {
	for _, b := range hookrunner.Buckets(hookrunner.ForEvent(hooks, hookrunner.EventCRDInstall), hookrunner.Modes{}) {
		for _, h := range b.Hooks() {
			began := helmtime.Now()
			created, err := i.Install(ctx, []chart.CRD{{Name: h.Name, File: &chart.File{Name: h.Path, Data: []byte(h.Manifest)}}})
			if err != nil {
				return fmt.Errorf("failed %s: hook %s (%s): %w", hookrunner.EventCRDInstall, hookrunner.Title(h), h.Path, err)
			}
			if created {
				h.LastRun = release.HookExecution{StartedAt: began, CompletedAt: helmtime.Now(), Phase: release.HookPhaseSucceeded}
			}
		}
	}
	return nil
}

// Install creates the CRDs that do not exist yet, one file after the other, and waits until
// the cluster serves their kinds. It does not change existing CRDs. created reports whether
// it created any.
func (i *Installer) Install(ctx context.Context, definitions []chart.CRD) (created bool, err error) {
	var list kube.ResourceList
	present := i.present(ctx, definitions)
	for n, definition := range definitions {
		if name := present[n]; name != "" {
			i.Log("CRD %s is already present. Skipping.", name)
			continue
		}
		built, err := i.Cluster.Build(definition.File.Data, false)
		var states object.LiveObjects
		if err == nil {
			states, err = i.Writer.Create(ctx, built)
		}
		switch {
		case apierrors.IsAlreadyExists(err):
			i.Log("CRD %s is already present. Skipping.", built[0].Name)
			continue
		case err != nil:
			return false, fmt.Errorf("failed to install CRD %s: %w", definition.Name, err)
		}
		list = append(list, states.All(built)...)
	}
	if len(list) == 0 {
		return false, nil
	}
	if err := i.Waiter.Established(ctx, list); err != nil {
		return true, err
	}
	i.Log("Clearing discovery cache")
	return true, i.Cluster.AwaitKinds(ctx, cluster.DefinedKinds(list))
}

// present returns, for each file whose CRDs all exist in the cluster, the name of its first
// CRD, and "" for the other files. Install does not read the files whose CRDs exist, which
// saves time because they are large.
func (i *Installer) present(ctx context.Context, definitions []chart.CRD) []string {
	names := make([][]string, len(definitions))
	for n, definition := range definitions {
		names[n] = cluster.DefinitionNames(definition.File.Data)
	}
	exists := i.Cluster.DefinitionsPresent(ctx, slices.Concat(names...))
	present := make([]string, len(definitions))
	for n, all := range names {
		if len(all) > 0 && !slices.ContainsFunc(all, func(name string) bool { return !exists[name] }) {
			present[n] = all[0]
		}
	}
	return present
}
