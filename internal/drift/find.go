// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/ignorefile"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Config contains the parameters of Find.
type Config struct {
	Operation *operation.Operation
	// Release is the revision with which the cluster is compared. It need not be stored.
	Release *release.Release
	// Ignore contains the rules about differences that are ignored; nil if there are none.
	Ignore *ignorefile.File
}

// UnknownError reports that objects could not be compared.
type UnknownError struct{ Objects []Object }

func (e *UnknownError) Error() string {
	texts := make([]error, len(e.Objects))
	for i, o := range e.Objects {
		texts[i] = fmt.Errorf("%s: %s", o, o.Error)
	}
	return errors.Join(texts...).Error()
}

// Find compares the objects that a revision declares with those in the cluster. It does not compare
// hooks, nor objects that do not take part in the operation that has deployed the revision. If some
// objects cannot be compared, it returns a report about all, and an *UnknownError. The contents of
// Secrets are masked in both.
func Find(ctx context.Context, c Config) (*Report, error) {
	if c.Operation.Delegates() {
		return nil, errors.New("drift cannot be found with a custom Kubernetes client: it cannot list objects")
	}
	rel := c.Release
	report := &Report{Release: rel.Name, Namespace: rel.Namespace, Revision: rel.Version, Objects: []Object{}}
	list, gone, err := declaredObjects(c)
	if err != nil {
		return nil, err
	}
	if err := object.SetOwner(list, object.OwningRelease{Name: rel.Name, Namespace: rel.Namespace}); err != nil {
		return nil, err
	}
	comparison := Comparison{Cluster: c.Operation.Cluster, Owner: c.Operation.Store.OwnerOf(rel), Ignore: c.Ignore}
	differences, err := comparison.Run(ctx, list)
	if err != nil {
		return nil, failure.PreferContextCause(ctx, err)
	}
	c.report(report, differences)
	for _, o := range gone {
		if c.Ignore.For(o.forRules).IgnoreObject() {
			report.Unchanged++
		} else {
			report.Objects = append(report.Objects, o.Object)
		}
	}
	report.Drifted = report.Count(Changed)+report.Count(Missing) > 0
	err = report.unknownError()
	return report, err
}

// report adds differences to a report.
func (c Config) report(report *Report, differences []Difference) {
	var redactor *redact.Redactor
	for _, d := range differences {
		if d.State == Unchanged {
			report.Unchanged++
			continue
		}
		if redactor == nil { // only now, because it takes a while with many Secrets
			redactor = redact.ForObjects(append(Contents(differences), redact.HookObjects(c.Release.Hooks)...))
			c.Operation.Events.RedactWith(redactor)
		}
		o := d.Masked(redactor)
		if d.Live != nil {
			reason, other := object.OwnedByOther(d.Live, object.OwningRelease{Name: c.Release.Name, Namespace: c.Release.Namespace})
			if other {
				o.Note = reason
			}
		}
		report.Objects = append(report.Objects, o)
	}
}

func (r *Report) unknownError() error {
	var unknown []Object
	for _, o := range r.Objects {
		if o.State == Unknown {
			unknown = append(unknown, o)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return &UnknownError{unknown}
}

// goneObject is an object whose kind the cluster does not serve.
type goneObject struct {
	Object
	forRules ignorefile.Object
}

// declaredObjects builds the objects that a revision declares, in its order. gone are those of kinds
// that the cluster does not serve.
func declaredObjects(c Config) (list kube.ResourceList, gone []goneObject, err error) {
	plan, _, err := history.PlanFor(c.Release, history.PlanOptions{AsDeployed: true, DisableHooks: true, IgnoreExternal: true})
	if err != nil {
		return nil, nil, err
	}
	if plan == nil {
		if list, err = c.Operation.Cluster.Build([]byte(c.Release.Manifest), false); err == nil {
			return LastDeclarations(list), nil, nil
		}
		if plan, err = history.PlanOrSingleNode(c.Release, true, history.PlanOptions{}); err != nil {
			return nil, nil, err
		}
	}
	var contents []map[string]any
	for _, n := range plan.Nodes {
		for _, res := range n.Resources {
			unknown, err := c.Operation.Cluster.IsUnknownKind(res.APIVersion, res.ID.Kind)
			switch {
			case err != nil:
				return nil, nil, err
			case unknown:
				gone = append(gone, ofGoneKind(res))
			default:
				contents = append(contents, res.Object())
			}
		}
	}
	list, err = c.Operation.Cluster.BuildObjects(contents, false)
	if err != nil {
		return nil, nil, fmt.Errorf("unable to build kubernetes objects from the manifest of the release: %w", err)
	}
	return list, gone, nil
}

// ofGoneKind returns an object whose kind the cluster does not serve. If the release itself defines
// the kind, the object is gone with its definition.
func ofGoneKind(res *sequencer.PlannedResource) goneObject {
	o := Object{APIVersion: res.APIVersion, Kind: res.ID.Kind, Namespace: res.ID.Namespace, Name: res.ID.Name}
	if res.SelfDefined {
		o.State, o.Note = Missing, "the definition of its kind, which is part of the release, is missing"
	} else {
		o.State, o.Error = Unknown, kindGone(o.APIVersion, o.Kind).Error()
	}
	return goneObject{o, ignorefile.Object{Group: res.ID.Group, Kind: res.ID.Kind, Namespace: res.ID.Namespace, Name: res.ID.Name}}
}

// LastDeclarations omits each object that a later one in list replaces, because it has the same
// identity.
func LastDeclarations(list kube.ResourceList) kube.ResourceList {
	last := object.ByID(list)
	return list.Filter(func(info *object.Info) bool { return last[object.IDOf(info)] == info })
}

// LiveObjects returns the objects that a revision declares as they are in the cluster. It omits those that do not exist.
func LiveObjects(ctx context.Context, op *operation.Operation, rel *release.Release) (kube.ResourceList, error) {
	list, _, err := declaredObjects(Config{Operation: op, Release: rel})
	if err != nil {
		return nil, err
	}
	live, err := op.Cluster.Live(ctx, list)
	if err != nil {
		return nil, failure.PreferContextCause(ctx, err)
	}
	var existing kube.ResourceList
	for _, info := range list {
		if live[info] != nil {
			existing = append(existing, object.WithState(info, live[info]))
		}
	}
	return existing, nil
}
