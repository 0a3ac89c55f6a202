// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// CheckTimeouts returns an error for resources that declare a longer timeout than
// operation, the timeout of the whole operation. If operation is 0, there is no limit.
func CheckTimeouts(p *sequencer.Plan, operation time.Duration) error {
	var problems []error
	for _, n := range p.Nodes {
		for _, res := range n.Resources {
			if operation > 0 && res.Timeout > operation {
				problems = append(problems, &sequencer.ResourceError{File: res.File, ID: res.ID, Err: fmt.Errorf(
					"%s: %s is longer than the timeout of the whole operation, %s: raise --timeout",
					annotation.ReadinessTimeout, res.Timeout, operation)})
			}
		}
	}
	return errors.Join(problems...)
}

// CheckNeeds checks the references between resources that cannot be satisfied in the order
// of the plan, because the referenced object is not deployed in time. It returns an error
// for those whose referenced object does not already exist in the cluster.
func CheckNeeds(ctx context.Context, c *cluster.Client, p *sequencer.Plan) error {
	var unmet []sequencer.UnmetNeed
	for _, need := range p.Unmet {
		exists, err := exists(ctx, c, need.To)
		if err != nil {
			return err
		}
		if !exists {
			unmet = append(unmet, need)
		}
	}
	if len(unmet) > 0 {
		return &sequencer.UnmetNeedsError{Needs: unmet}
	}
	return nil
}

// exists reports whether the object of a resource already exists in the cluster. An object
// that the account is not allowed to read counts as missing.
func exists(ctx context.Context, c *cluster.Client, res *sequencer.PlannedResource) (bool, error) {
	mapping, err := c.Mapping(res.APIVersion, res.ID.Kind)
	if err != nil || mapping == nil {
		return false, err
	}
	client, err := c.Dynamic()
	if err != nil {
		return false, err
	}
	namespace := res.ID.Namespace
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		namespace = ""
	}
	_, err = client.Resource(mapping.Resource).Namespace(namespace).Get(ctx, res.ID.Name, metav1.GetOptions{})
	if err == nil {
		return true, nil
	}
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return false, nil
	}
	return false, fmt.Errorf("look for %s in the cluster: %w", res.ID, err)
}

// permission is a verb that the account must be allowed to use on a kind of objects. The
// namespace is empty for a cluster-scoped kind.
type permission struct {
	verb            string
	resource        schema.GroupVersionResource
	kind, namespace string
	// name is the name of a single object; empty for all objects of the kind.
	name string
}

func (p permission) String() string {
	description := p.verb + " " + p.kind
	if p.namespace != "" {
		description += " in namespace " + p.namespace
	}
	return description
}

// CheckPermissions checks whether the account is allowed to read or create the objects in
// all, which are about to be applied, and to delete the objects in obsolete. An ordered
// operation thus does not fail half-way because of a missing permission. The error is a
// *failure.PermissionError. A permission that the cluster cannot check counts as granted.
func (a *Applier) CheckPermissions(ctx context.Context, all, obsolete kube.ResourceList) error {
	if !a.Cluster.HasCluster() {
		return nil
	}
	client, err := a.Cluster.Clientset()
	if err != nil {
		return err
	}
	needed := a.permissions(all, obsolete)
	denied := make([]bool, len(needed))
	var requests sync.WaitGroup
	for i, p := range needed {
		requests.Go(func() { denied[i] = isDenied(ctx, client, p) })
	}
	requests.Wait()
	e := &failure.PermissionError{}
	for i, p := range needed {
		list := all
		if p.verb == "delete" {
			list = obsolete
		}
		if denied[i] && (p.verb == "create" || a.isDeniedByName(ctx, client, p, list)) {
			e.Denied = append(e.Denied, p.String())
		}
	}
	if len(e.Denied) > 0 {
		slices.Sort(e.Denied)
		return e
	}
	return ctx.Err()
}

// permissions lists the permissions that CheckPermissions needs, without duplicates. For an
// object in all that can already exist, only the permission to read it is needed, because
// the object may need no change.
func (a *Applier) permissions(all, obsolete kube.ResourceList) []permission {
	needed := map[permission]bool{}
	need := func(verb string, info *object.Info) {
		needed[permission{verb, info.Mapping.Resource, info.Mapping.GroupVersionKind.Kind, object.Namespace(info), ""}] = true
	}
	for _, info := range all {
		if a.IsAbsent(info) {
			need("create", info)
		} else {
			need("get", info)
		}
	}
	for _, info := range obsolete {
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

// isDeniedByName reports whether the permission p is missing for at least one existing
// object of list. It checks each object separately, because an account that is not allowed
// to read or delete all objects of a kind can still be allowed to do so for objects of
// certain names.
func (a *Applier) isDeniedByName(ctx context.Context, client kubernetes.Interface, p permission, list kube.ResourceList) bool {
	var objects kube.ResourceList
	for _, info := range list {
		if info.Mapping.Resource == p.resource && object.Namespace(info) == p.namespace {
			objects = append(objects, info)
		}
	}
	live, err := a.Cluster.Live(ctx, objects)
	if err != nil {
		return true
	}
	for _, info := range objects {
		named := p
		named.name = info.Name
		if live[info] != nil && isDenied(ctx, client, named) {
			return true
		}
	}
	return false
}

func isDenied(ctx context.Context, client kubernetes.Interface, p permission) bool {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: p.verb, Group: p.resource.Group, Version: p.resource.Version,
			Resource: p.resource.Resource, Namespace: p.namespace, Name: p.name,
		},
	}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	return err == nil && !answer.Status.Allowed
}
