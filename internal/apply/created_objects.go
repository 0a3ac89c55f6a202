// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Created returns the objects that the operation created. It includes objects that may not
// exist, because the server did not respond to the create request.
func (a *Applier) Created() kube.ResourceList {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.created)
}

// WhyNotCreated returns "" if live, an object in the cluster, was created by this operation
// from info; otherwise it returns the reason why it was not. If the server did not respond
// to the create request, the UID of the created object is not known; then the labels and
// annotations of live decide.
func (a *Applier) WhyNotCreated(info *object.Info, live *unstructured.Unstructured) string {
	switch uid := object.UID(a.state(info)); {
	case uid != "" && uid != live.GetUID():
		return "it was replaced by another object with the same name"
	case uid == "" && object.CheckOwner(live, a.config.Owner) != nil:
		return "it is not labeled as owned by the release"
	}
	return ""
}

// state returns the state of an object that the server returned when the object was written.
func (a *Applier) state(info *object.Info) *object.Info {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.states.Of(info)
}

// ConfirmCreated returns the objects in created, a result of Created, in the states that
// the server returned. It omits objects that belong to another owner: if the server did
// not respond to a create request, it uses c to find out who created the object.
func (a *Applier) ConfirmCreated(ctx context.Context, c cluster.Reader, created kube.ResourceList) (kube.ResourceList, error) {
	a.mu.Lock()
	states := a.states.All(created)
	unconfirmed := created.Filter(func(info *object.Info) bool { return a.states[info] == nil })
	a.mu.Unlock()
	if len(unconfirmed) == 0 { // always so with a custom Kubernetes client
		return states, nil
	}
	live, err := c.Live(ctx, unconfirmed)
	if err != nil {
		return nil, err
	}
	return states.Filter(func(info *object.Info) bool {
		return live[info] == nil || a.WhyNotCreated(info, live[info]) == ""
	}), nil
}

// Adopted returns the objects of the new revision that existed before the operation although
// no earlier revision declares them.
func (a *Applier) Adopted() map[sequencer.ID]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	ids := map[sequencer.ID]bool{}
	for info := range a.present {
		ids[object.IDOf(info)] = true
	}
	return ids
}
