// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordered-helm/helm/internal/cluster"
)

// crdTimeout is how long new definitions may take to be served.
const crdTimeout = 60 * time.Second

// installCRDs creates the definitions of the charts' crds/ folders that are not
// there yet, one file at a time in their order, and waits until they are
// served. Those that are there are left alone.
func installCRDs(ctx context.Context, cfg *Configuration, c *cluster.Client, crds []chart.CRD) error {
	var created kube.ResourceList
	for _, crd := range crds {
		list, err := c.Build(crd.File.Data, false)
		if err == nil {
			err = c.Create(ctx, list)
		}
		switch {
		case apierrors.IsAlreadyExists(err):
			cfg.Log("CRD %s is already present. Skipping.", list[0].Name)
			continue
		case err != nil:
			return fmt.Errorf("failed to install CRD %s: %w", crd.Name, err)
		}
		created = append(created, list...)
	}
	if len(created) == 0 {
		return nil
	}
	waiting := &stockWait{cluster: c, list: created, timeout: crdTimeout, events: newEvents(nil)}
	if err := waiting.run(ctx); err != nil {
		return err
	}
	cfg.Log("Clearing discovery cache")
	return c.RefreshDiscovery()
}
