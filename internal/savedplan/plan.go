// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package savedplan stores what "helm plan" has found out in a file, such that an install or upgrade can later do
// exactly that, and checks that this is still possible (docs/reference.md, "Saved plans").
package savedplan

import (
	"context"
	"errors"
	"fmt"
	"strings"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/internal/planner"
	"github.com/ordered-helm/helm/internal/preview"
)

// The values of Plan.Operation.
const (
	Install = "install"
	Upgrade = "upgrade"
)

// Plan is an operation that was planned, and that can be executed as long as nothing has changed that it depends
// on. It contains the contents of Secrets.
type Plan struct {
	// Operation is Install or Upgrade.
	Operation string `json:"operation"`
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
	// Revision is the revision that the operation creates.
	Revision int `json:"revision"`
	// Base is the newest revision that the release had; nil if there was none.
	Base    *Base   `json:"base,omitempty"`
	Cluster Cluster `json:"cluster"`
	Options Options `json:"options"`
	Chart   Chart   `json:"chart"`
	// OrderFile is the order file that was given for the operation; nil if there is none.
	OrderFile *orderfile.Given `json:"orderFile,omitempty"`
	// Rendered is the rendered chart.
	Rendered *planner.Recorded `json:"rendered"`
	// Objects contains what the operation would do with each object, and with what it was compared.
	Objects []preview.State `json:"objects"`
}

// Chart is the chart that was rendered, and the values of the user.
type Chart struct {
	Files []File `json:"files"`
	// Defaults are the default values of the chart. They can differ from those in its files (--reuse-values).
	Defaults map[string]any `json:"defaults,omitempty"`
	Values   map[string]any `json:"values,omitempty"`
}

// File is a file of a chart.
type File struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// AddChart adds a chart, the values of the user, and the order file that was given, which can be nil, to the plan. It
// must be called before Helm processes the dependencies of ch. If p is nil, it does nothing.
func (p *Plan) AddChart(ch *chart.Chart, values map[string]any, orderFile *orderfile.Given) error {
	switch {
	case p == nil:
		return nil
	case len(ch.Raw) == 0:
		return errors.New("the plan cannot be saved, because the chart was not loaded from files")
	}
	p.OrderFile, p.Chart = orderFile, Chart{Defaults: chartloader.CopyValues(ch.Values), Values: chartloader.CopyValues(values)}
	for _, f := range ch.Raw {
		p.Chart.Files = append(p.Chart.Files, File(*f))
	}
	return nil
}

// Load returns the chart and the values.
func (c *Chart) Load() (*chart.Chart, map[string]any, error) {
	files := make([]*chartloader.BufferedFile, len(c.Files))
	for i, f := range c.Files {
		files[i] = &chartloader.BufferedFile{Name: f.Name, Data: f.Data}
	}
	ch, err := chartloader.LoadFiles(files)
	if err != nil {
		return nil, nil, fmt.Errorf("the chart of the plan: %w", err)
	}
	ch.Values = chartloader.CopyValues(c.Defaults)
	return ch, chartloader.CopyValues(c.Values), nil
}

// Base identifies a revision.
type Base struct {
	Revision int            `json:"revision"`
	Status   release.Status `json:"status"`
	Deployed helmtime.Time  `json:"deployed"`
}

// BaseOf identifies the newest of the revisions of a release; nil if there are none.
func BaseOf(revisions []*release.Release) *Base {
	last := history.Newest(revisions)
	if last == nil {
		return nil
	}
	return &Base{Revision: last.Version, Status: last.Info.Status, Deployed: last.Info.LastDeployed}
}

// ChangedError reports that a plan cannot be executed, because something that it depends on has changed since it was
// made. Nothing was changed.
type ChangedError struct {
	Release string
	// Changes says what has changed.
	Changes []string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("the plan for release %s can no longer be executed, because something has changed since it was made; nothing was changed now. Make a new plan, and review it:\n  %s",
		e.Release, strings.Join(e.Changes, "\n  "))
}

func (p *Plan) changed(changes ...string) error {
	return &ChangedError{Release: p.Release, Changes: changes}
}

// CheckRelease returns a *ChangedError if the release has changed. revisions are its revisions.
func (p *Plan) CheckRelease(revisions []*release.Release) error {
	was, is := p.Base, BaseOf(revisions)
	switch {
	case was == nil && is == nil:
	case was == nil:
		return p.changed(fmt.Sprintf("the release did not exist; now, revision %d is %s", is.Revision, is.Status))
	case is == nil:
		return p.changed(fmt.Sprintf("the newest revision was %d; now, the release does not exist", was.Revision))
	case was.Revision != is.Revision || was.Status != is.Status:
		return p.changed(fmt.Sprintf("revision %d was %s, and was the newest one; now, revision %d is %s", was.Revision, was.Status, is.Revision, is.Status))
	case !was.Deployed.Equal(is.Deployed):
		return p.changed(fmt.Sprintf("the release was installed again: revision %d was deployed at %s, not at %s", is.Revision, is.Deployed, was.Deployed))
	}
	return nil
}

// Result is what was found out for a plan.
type Result struct {
	Preview  *preview.Preview
	Rendered *planner.Rendered
	// Revisions are those that the release has.
	Revisions []*release.Release
}

// Complete adds to the plan what is known after the preview: all but Operation, Options, Chart and OrderFile. It returns
// the plan, or nil if the server would reject a part of it.
func (p *Plan) Complete(ctx context.Context, cfg *helmaction.Configuration, r Result) (completed *Plan, err error) {
	if r.Preview.Fails {
		return nil, nil
	}
	p.Release, p.Namespace, p.Revision = r.Preview.Release, r.Preview.Namespace, r.Preview.Revision
	p.Base, p.Rendered, p.Objects = BaseOf(r.Revisions), r.Rendered.Recorded(), r.Preview.States()
	p.Cluster, err = IdentifyCluster(ctx, cfg)
	return p, err
}

// Recorded returns what the plan contains instead of rendering the chart; nil without a plan.
func (p *Plan) Recorded() *planner.Recorded {
	if p == nil {
		return nil
	}
	return p.Rendered
}

// MakePreview makes a preview of the deployment of a chart with values.
type MakePreview func(ctx context.Context, ch *chart.Chart, values map[string]any) (*preview.Preview, error)

// Check returns an error unless the plan can be executed: it was made for the cluster of cfg, and nothing has changed.
// makePreview makes a preview of the operation.
func (p *Plan) Check(ctx context.Context, cfg *helmaction.Configuration, makePreview MakePreview) error {
	is, err := IdentifyCluster(ctx, cfg)
	if err == nil {
		err = p.CheckCluster(is)
	}
	if err != nil {
		return err
	}
	return p.checkStates(func() ([]preview.State, error) {
		ch, values, err := p.Chart.Load()
		if err != nil {
			return nil, err
		}
		now, err := makePreview(ctx, ch, values)
		if err != nil {
			return nil, err
		}
		return now.States(), nil
	})
}

// checkStates returns a *ChangedError if the objects of the operation, or the answers of the server about them, have
// changed. statesNow returns the states of a new preview. If they differ from those of the plan, checkStates calls it
// again: planned values that differ between these two previews are different in every answer of the server, and do not
// count.
func (p *Plan) checkStates(statesNow func() ([]preview.State, error)) error {
	states, err := statesNow()
	if err != nil {
		return err
	}
	differences := preview.Compare(p.Objects, states)
	if len(differences) == 0 {
		return nil
	}
	again, err := statesNow()
	if err != nil {
		return err
	}
	differences = preview.WithoutUnstable(differences, preview.Compare(states, again))
	if len(differences) == 0 {
		return nil
	}
	var changes []string
	for _, d := range differences {
		changes = append(changes, describe(d))
	}
	return p.changed(changes...)
}

func describe(d preview.Difference) string {
	switch {
	case len(d.Fields()) > 0:
		return d.Object + ": " + strings.Join(d.Fields(), ", ")
	case d.Action == "":
		return fmt.Sprintf("%s: now, the operation would %s it", d.Object, verb(d.Now))
	case d.Now == "":
		return fmt.Sprintf("%s: the operation would %s it; now, it would not", d.Object, verb(d.Action))
	}
	return fmt.Sprintf("%s: the operation would %s it; now, it would %s it", d.Object, verb(d.Action), verb(d.Now))
}

func verb(a preview.Action) string {
	switch a {
	case preview.Unchanged:
		return "not change"
	case preview.Fail:
		return "fail to change"
	}
	return string(a)
}
