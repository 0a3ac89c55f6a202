// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/fielddiff"
	"github.com/ordered-helm/helm/internal/ignorefile"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/patch"
)

// Comparison compares declared objects with those in the cluster.
type Comparison struct {
	Cluster *cluster.Client
	// Owner is the reference that the objects must have to their Release; nil if they need none.
	Owner *object.ReleaseReference
	// Ignore contains the rules about differences that are ignored; nil if there are none.
	Ignore *ignorefile.File
}

// Difference says how an object stands.
type Difference struct {
	Info  *object.Info
	State State
	// Live is the object in the cluster; nil if it does not exist, or is Unknown.
	Live *unstructured.Unstructured
	// Fields are the fields that differ, if the state is Changed. There are none if an object cannot
	// be compared field by field. The contents of Secrets are not masked.
	Fields []Field
	// Err says why the object is Unknown.
	Err error
}

// ApplyOptions returns the options with which objects are compared, and with which they must be applied
// so that they are as declared. The base of each object is its declaration, so that fields which
// others have set stay.
func ApplyOptions() objectwriter.ApplyOptions {
	return objectwriter.ApplyOptions{KeepForeignFields: true, ThreeWay: true, SkipSameState: true, Declaration: Declaration}
}

// Run compares the objects in list with those in the cluster, and returns a Difference for each of
// them, in the same order. It sends one list request for each kind and namespace. The objects must
// have the label and annotations that mark them as owned by the release.
func (c Comparison) Run(ctx context.Context, list kube.ResourceList) ([]Difference, error) {
	live, unread, err := c.Cluster.List(ctx, list)
	if err != nil {
		return nil, err
	}
	defined := map[schema.GroupKind]bool{}
	for _, kind := range object.DefinedKinds(list) {
		defined[kind.GroupKind()] = true
	}
	differences := make([]Difference, len(list))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, info := range list {
		g.Go(func() error { // each Difference has its own error
			err := unread[info]
			if apierrors.IsNotFound(err) && defined[info.Mapping.GroupVersionKind.GroupKind()] {
				err = nil // the object is gone with the definition of its kind, which is part of the release
			}
			if err != nil {
				differences[i] = Difference{Info: info, State: Unknown, Err: unreadable(info, err)}
			} else {
				differences[i] = c.Compare(info, live[info])
			}
			return nil
		})
	}
	_ = g.Wait()
	return differences, nil
}

// unreadable returns an error that says why an object could not be read, and what to do.
func unreadable(info *object.Info, err error) error {
	if gvk := info.Mapping.GroupVersionKind; apierrors.IsNotFound(err) {
		return kindGone(gvk.GroupVersion().String(), gvk.Kind)
	}
	if !apierrors.IsForbidden(err) {
		return fmt.Errorf("%w: repeat the command when the API server can be reached", err)
	}
	resource := info.Mapping.Resource.GroupResource()
	return fmt.Errorf("%w: grant the account the permission to list or get %s", err, resource)
}

// kindGone returns an error that says that the cluster does not serve a kind.
func kindGone(apiVersion, kind string) error {
	return fmt.Errorf("the cluster does not serve the kind %s of %s: install its definition, or remove the object from the chart", kind, apiVersion)
}

// Compare compares an object with live, the object in the cluster; nil if it does not exist. It sends
// no requests.
func (c Comparison) Compare(info *object.Info, live *unstructured.Unstructured) Difference {
	d := Difference{Info: info, State: Unchanged, Live: live}
	rules := c.Ignore.For(ruleObject(info))
	switch {
	case rules.IgnoreObject(), live == nil && HasTTLAfterFinished(info):
		return d
	case live == nil:
		d.State = Missing
		return d
	}
	p, err := objectwriter.ComputePatch(c.Owner, info, live, ApplyOptions())
	if err != nil {
		d.State, d.Err = Unknown, fmt.Errorf("%s cannot be compared with its declaration: %w: correct the declaration", object.Describe(info), err)
		return d
	}
	if p.IsEmpty() {
		return d
	}
	d.State = Changed
	before, after, err := p.Effect(info, live)
	if err != nil {
		return d
	}
	d.Fields = fieldsOf(live, fielddiff.Compare(before, after, patch.SchemaOf(info)), rules)
	if len(d.Fields) == 0 {
		d.State = Unchanged
	}
	return d
}

// fieldsOf returns the differences that are not ignored, with those who have set the fields of live.
func fieldsOf(live *unstructured.Unstructured, differences []fielddiff.Difference, rules ignorefile.Rules) []Field {
	managers := fielddiff.ManagersOf(live)
	var fields []Field
	for _, difference := range differences {
		field := Field{Path: difference.Path.String(), Declared: difference.Declared, Live: difference.Live}
		if difference.Live != nil {
			manager, at := managers.Of(difference.Path)
			if field.Manager = manager; !at.IsZero() {
				field.Time = &at
			}
		}
		if !rules.IgnoreField(difference.Path, field.Manager) {
			fields = append(fields, field)
		}
	}
	return fields
}

// ruleObject returns what ignore rules need to know about an object.
func ruleObject(info *object.Info) ignorefile.Object {
	id := object.IDOf(info)
	o := ignorefile.Object{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
	if u, isUnstructured := info.Object.(*unstructured.Unstructured); isUnstructured {
		o.Labels = u.GetLabels()
	}
	return o
}
