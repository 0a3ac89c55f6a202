// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

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
	"github.com/ordered-helm/helm/internal/hookrunner"
)

// crdTimeout is how long new definitions may take to be served.
const crdTimeout = 60 * time.Second

// installCRDHooks creates the definitions that are hooks of the event crd-install
// and not there yet, and waits until they are served.
func installCRDHooks(ctx context.Context, cfg *Configuration, c *cluster.Client, rel *release.Release) error {
	for _, b := range hookrunner.Buckets(hookrunner.ForEvent(rel.Hooks, hookrunner.EventCRDInstall), hookrunner.Modes{}) {
		for _, h := range b.Hooks() {
			began := helmtime.Now()
			created, err := installCRDs(ctx, cfg, c, []chart.CRD{{Name: h.Name, File: &chart.File{Name: h.Path, Data: []byte(h.Manifest)}}})
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

// installCRDs creates the definitions of the charts' crds/ folders that are not
// there yet, one file at a time in their order, and waits until they are
// served. Those that are there are left alone; created reports whether any was not.
func installCRDs(ctx context.Context, cfg *Configuration, c *cluster.Client, crds []chart.CRD) (created bool, err error) {
	var news kube.ResourceList
	present := presentCRDs(ctx, c, crds)
	for i, crd := range crds {
		if name := present[i]; name != "" {
			cfg.Log("CRD %s is already present. Skipping.", name)
			continue
		}
		list, err := c.Build(crd.File.Data, false)
		if err == nil {
			err = c.Create(ctx, list)
		}
		switch {
		case apierrors.IsAlreadyExists(err):
			cfg.Log("CRD %s is already present. Skipping.", list[0].Name)
			continue
		case err != nil:
			return false, fmt.Errorf("failed to install CRD %s: %w", crd.Name, err)
		}
		news = append(news, list...)
	}
	if len(news) == 0 {
		return false, nil
	}
	waiting := &stockWait{cluster: c, list: news, timeout: crdTimeout, events: newEvents(nil)}
	if err := waiting.run(ctx); err != nil {
		return true, err
	}
	cfg.Log("Clearing discovery cache")
	return true, c.AwaitKinds(ctx, cluster.DefinedKinds(news))
}

// presentCRDs gives, for each file of which all definitions are there, the name of the
// first. Files are large: those need not be read.
func presentCRDs(ctx context.Context, c *cluster.Client, crds []chart.CRD) []string {
	names := make([][]string, len(crds))
	for i, crd := range crds {
		names[i] = cluster.DefinitionNames(crd.File.Data)
	}
	there := c.DefinitionsPresent(ctx, slices.Concat(names...))
	present := make([]string, len(crds))
	for i, all := range names {
		if len(all) > 0 && !slices.ContainsFunc(all, func(name string) bool { return !there[name] }) {
			present[i] = all[0]
		}
	}
	return present
}
