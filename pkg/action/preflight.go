// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// checkTimeouts refuses resources that ask for more time than the whole
// operation has.
func (r *rollout) checkTimeouts() error {
	var problems []error
	for _, n := range r.plan.Nodes {
		for _, res := range n.Resources {
			if limit := r.limits.operation; limit > 0 && res.Timeout > limit {
				problems = append(problems, &sequencer.ResourceError{File: res.File, ID: res.ID, Err: fmt.Errorf(
					"%s: %s is longer than the timeout of the whole operation, %s: raise --timeout",
					annotation.ReadinessTimeout, res.Timeout, limit)})
			}
		}
	}
	return errors.Join(problems...)
}

// checkNeeds returns the needs that the order makes unmeetable, those left out
// whose object is in the cluster already.
func (r *rollout) checkNeeds(ctx context.Context) error {
	var unmet []sequencer.UnmetNeed
	for _, need := range r.plan.Unmet {
		there, err := r.inCluster(ctx, need.To)
		if err != nil {
			return err
		}
		if !there {
			unmet = append(unmet, need)
		}
	}
	if len(unmet) > 0 {
		return &sequencer.UnmetNeedsError{Needs: unmet}
	}
	return nil
}

// inCluster asks whether an object of the release exists already. What cannot
// be asked counts as missing.
func (r *rollout) inCluster(ctx context.Context, res *sequencer.PlannedResource) (bool, error) {
	mapping, err := r.cluster.Mapping(res.APIVersion, res.ID.Kind)
	if err != nil || mapping == nil {
		return false, err
	}
	client, err := r.cluster.Dynamic()
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

// PermissionError says that the account may not write some of the resources.
// It is found before anything is changed.
type PermissionError struct {
	// Denied are what it may not do, each as "create Deployment in namespace shop",
	// sorted.
	Denied []string
}

func (e *PermissionError) Error() string {
	return fmt.Sprintf("this account may not %s: nothing was changed; "+
		"have the permission granted, or ask `kubectl auth can-i` for details", strings.Join(e.Denied, ", or "))
}

// permission is one thing that the account must be allowed.
type permission struct {
	verb            string
	resource        schema.GroupVersionResource
	kind, namespace string
	// name is one object's; empty for all of the kind.
	name string
}

func (p permission) String() string {
	text := p.verb + " " + p.kind
	if p.namespace != "" {
		text += " in namespace " + p.namespace
	}
	return text
}

// checkPermissions asks, all at once, whether the account may read, create and delete
// what it will have to, so that an order does not end half-way for want of a
// permission. A cluster that does not answer such questions is not asked
// again.
func (r *rollout) checkPermissions(ctx context.Context) error {
	if !r.cluster.Real() {
		return nil
	}
	client, err := r.cluster.Clientset()
	if err != nil {
		return err
	}
	needed := r.permissions()
	denied := make([]bool, len(needed))
	var asking sync.WaitGroup
	for i, p := range needed {
		asking.Go(func() { denied[i] = isDenied(ctx, client, p) })
	}
	asking.Wait()
	e := &PermissionError{}
	for i, p := range needed {
		if denied[i] && (p.verb == "create" || r.isDeniedByName(ctx, client, p)) {
			e.Denied = append(e.Denied, p.String())
		}
	}
	if len(e.Denied) > 0 {
		slices.Sort(e.Denied)
		return e
	}
	return ctx.Err()
}

// permissions lists what is to be read, created and deleted, each verb, kind and
// namespace once. What is there already is read before it is written, and may need no
// change.
func (r *rollout) permissions() []permission {
	seen := map[permission]bool{}
	need := func(verb string, info *kubeInfo) {
		seen[permission{verb, info.Mapping.Resource, info.Mapping.GroupVersionKind.Kind, scopeOf(info), ""}] = true
	}
	for _, info := range r.all {
		if r.isAbsent(info) {
			need("create", info)
		} else {
			need("get", info)
		}
	}
	if r.prior != nil {
		for _, info := range r.going() {
			need("delete", info)
		}
	}
	list := make([]permission, 0, len(seen))
	for p := range seen {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b permission) int {
		return cmp.Or(cmp.Compare(a.verb, b.verb), cmp.Compare(a.resource.String(), b.resource.String()), cmp.Compare(a.namespace, b.namespace))
	})
	return list
}

// going lists what is to be deleted, as far as the manifests tell.
func (r *rollout) going() kube.ResourceList {
	policies := r.prior.policies()
	var going kube.ResourceList
	for _, info := range r.prior.without(r.all) {
		if id := idOf(info); !keeps(policies[id]) && !r.spared[id] {
			going = append(going, info)
		}
	}
	return going
}

// isDeniedByName asks, where the account may not read or delete a kind as a whole, about
// each object that is there: it may be allowed those alone.
func (r *rollout) isDeniedByName(ctx context.Context, client kubernetes.Interface, p permission) bool {
	list := r.all
	if p.verb == "delete" {
		list = r.going()
	}
	var objects kube.ResourceList
	for _, info := range list {
		if info.Mapping.Resource == p.resource && scopeOf(info) == p.namespace {
			objects = append(objects, info)
		}
	}
	live, err := r.cluster.Live(ctx, objects)
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
