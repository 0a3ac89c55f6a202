// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/firstinstall"
	"github.com/ordered-helm/helm/internal/redact"
)

// renderChart renders the chart. If the upgrade is ordered and no revision of the release was
// ever deployed, it renders the chart as for an installation, unless this would change the
// values of a Secret that exists.
func (r *upgradeRun) renderChart(ctx context.Context, revision int) error {
	neverDeployed := r.action.isOrdered() && !r.op.Delegates() && firstinstall.NeverDeployed(r.state.History)
	if neverDeployed && r.mode.looksUp() {
		done, err := r.renderAsInstall(ctx, revision)
		if done || err != nil {
			return err
		}
	}
	var err error
	if r.rendered, err = r.output.render(ctx, r.planner); err != nil && neverDeployed {
		return fmt.Errorf("%w\nno revision of release %s was ever deployed: if the chart fails because its installation did not create everything, "+
			"uninstall the release (helm uninstall %s --namespace %s), and install it again", err, r.name, r.name, r.current.Namespace)
	}
	return err
}

// renderAsInstall renders the chart as for an installation. done is false if the result cannot
// be used, so that the chart must be rendered as for an upgrade: because the chart cannot be
// rendered in this way, or because a Secret that exists would get other values, for example
// newly generated passwords.
func (r *upgradeRun) renderAsInstall(ctx context.Context, revision int) (done bool, err error) {
	p := r.planner.WithRelease(chartutil.ReleaseOptions{Name: r.name, Namespace: r.current.Namespace, Revision: revision, IsInstall: true})
	rendered, finish, err := r.output.attempt(ctx, p)
	defer func() { finish(done || err != nil) }() // otherwise, the chart is rendered again
	if err != nil {
		r.op.Log("cannot render the chart as for an installation: %s", err)
		return false, nil
	}
	objects := redact.HookObjects(rendered.Hooks)
	for _, n := range rendered.Plan.Nodes {
		for _, res := range n.Resources {
			objects = append(objects, res.Object())
		}
	}
	secret, err := firstinstall.ChangedSecret(ctx, r.op.Cluster, objects, r.current.Namespace)
	if err != nil {
		return false, err
	}
	if secret != "" {
		r.op.Events.Warnf("no revision of release %s was ever deployed, but its chart is rendered as for an upgrade, because an installation would change the values of Secret/%s", r.name, secret)
		return false, nil
	}
	r.op.Events.Warnf("no revision of release %s was ever deployed: its chart is rendered as for an installation, and its install hooks run", r.name)
	r.planner, r.rendered, r.asInstall = p, rendered, true
	return true, nil
}
