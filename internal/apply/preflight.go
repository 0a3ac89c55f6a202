// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// CheckTimeouts returns an error if resources declare a readiness timeout that is longer
// than operationTimeout, the timeout of the whole operation. If operationTimeout is 0, the
// operation has no timeout, and CheckTimeouts returns nil.
func CheckTimeouts(p *sequencer.Plan, operationTimeout time.Duration) error {
	var problems []error
	for _, n := range p.Nodes {
		for _, res := range n.Resources {
			if operationTimeout > 0 && res.Timeout > operationTimeout {
				problems = append(problems, &sequencer.ResourceError{File: res.File, ID: res.ID, Err: fmt.Errorf(
					"%s: %s is longer than the timeout of the whole operation, %s: increase --timeout",
					annotation.ReadinessTimeout, res.Timeout, operationTimeout)})
			}
		}
	}
	for _, s := range p.Steps {
		if operationTimeout > 0 && s.Timeout > operationTimeout {
			reason := s.External[0].Reasons[0]
			problems = append(problems, fmt.Errorf("%s: %s: %s is longer than the timeout of the whole operation, %s: increase --timeout",
				reason.File, annotation.ExternalTimeout, s.Timeout, operationTimeout))
		}
	}
	return errors.Join(problems...)
}

// CheckNeeds returns an error if resources refer to objects that do not exist in the
// cluster and that the order deploys too late, so that the resources could not become
// ready.
func CheckNeeds(ctx context.Context, c cluster.Reader, p *sequencer.Plan) error {
	var unmet []sequencer.UnmetNeed
	for _, need := range p.Unmet {
		exists, denied, err := c.Exists(ctx, need.To.APIVersion, need.To.ID)
		if err != nil {
			return err
		}
		// A hook of an earlier revision may have created an object that the account is not
		// allowed to read.
		isUnknown := denied && need.ToNode == nil
		if !exists && !isUnknown {
			unmet = append(unmet, need)
		}
	}
	if len(unmet) > 0 {
		return &sequencer.UnmetNeedsError{Needs: unmet}
	}
	return nil
}

// permission is a verb that the account must be allowed to use on objects of a kind in a
// namespace. The namespace is empty for a cluster-scoped kind.
type permission struct {
	verb            string
	resource        schema.GroupVersionResource
	kind, namespace string
}

// action returns the attributes with which an access review asks whether p is granted for
// the object with this name, or for all objects of the kind if name is empty.
func (p permission) action(name string) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{
		Verb: p.verb, Group: p.resource.Group, Version: p.resource.Version,
		Resource: p.resource.Resource, Namespace: p.namespace, Name: name,
	}
}

func (p permission) String() string {
	description := p.verb + " " + p.kind
	if p.namespace != "" {
		description += " in namespace " + p.namespace
	}
	return description
}

// CheckPermissions checks that the account is allowed to read or create the objects in
// toApply and to delete those in toDelete, so that an ordered deployment does not fail
// half-way. If a permission is missing, the error is a
// *failure.PermissionError. A permission that the cluster cannot check counts as granted.
func (a *Applier) CheckPermissions(ctx context.Context, toApply, toDelete kube.ResourceList) error {
	needed := a.permissions(toApply, toDelete)
	actions := make([]authorizationv1.ResourceAttributes, len(needed))
	for i, p := range needed {
		actions[i] = p.action("")
	}
	denied, err := a.config.Cluster.Denied(ctx, actions)
	if err != nil {
		return err
	}
	e := &failure.PermissionError{}
	for i, p := range needed {
		list := toApply
		if p.verb == "delete" {
			list = toDelete
		}
		if denied[i] && (p.verb == "create" || a.isDeniedByName(ctx, p, list)) {
			e.Denied = append(e.Denied, p.String())
		}
	}
	if len(e.Denied) > 0 {
		slices.Sort(e.Denied)
		return e
	}
	return ctx.Err()
}

// permissions returns the permissions that CheckPermissions checks, without duplicates. If an
// object of toApply may already exist, only the permission to read it is required, because it
// may need no change.
func (a *Applier) permissions(toApply, toDelete kube.ResourceList) []permission {
	needed := map[permission]bool{}
	need := func(verb string, info *object.Info) {
		if info.Mapping == nil { // custom Kubernetes clients may not set it
			return
		}
		needed[permission{verb, info.Mapping.Resource, info.Mapping.GroupVersionKind.Kind, object.Namespace(info)}] = true
	}
	for _, info := range toApply {
		if a.IsAbsent(info) {
			need("create", info)
		} else {
			need("get", info)
		}
	}
	for _, info := range toDelete {
		need("delete", info)
	}
	list := make([]permission, 0, len(needed))
	for p := range needed {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b permission) int {
		return cmp.Or(cmp.Compare(a.verb, b.verb), cmp.Compare(a.resource.String(), b.resource.String()), cmp.Compare(a.namespace, b.namespace))
	})
	return list
}

// isDeniedByName reports whether p is denied for some object of list that exists. It is
// called if p is denied for the kind as a whole, because p can still be granted for
// objects with certain names.
func (a *Applier) isDeniedByName(ctx context.Context, p permission, list kube.ResourceList) bool {
	var objects kube.ResourceList
	for _, info := range list {
		if info.Mapping.Resource == p.resource && object.Namespace(info) == p.namespace {
			objects = append(objects, info)
		}
	}
	live, err := a.config.Cluster.Live(ctx, objects)
	if err != nil {
		return true
	}
	for _, info := range objects {
		if live[info] == nil {
			continue
		}
		denied, err := a.config.Cluster.Denied(ctx, []authorizationv1.ResourceAttributes{p.action(info.Name)})
		if err != nil || denied[0] {
			return true
		}
	}
	return false
}
