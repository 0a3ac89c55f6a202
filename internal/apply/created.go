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

// Created returns the objects that the operation created, including those for which the
// server did not answer the create request.
func (a *Applier) Created() kube.ResourceList {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.created)
}

// WhyNotCreated says why live, an object in the cluster, is not the object that the
// operation created from info; empty if it is. If the server did not answer the create
// request, the UID of the created object is not known. Then the labels and annotations of
// live decide.
func (a *Applier) WhyNotCreated(info *object.Info, live *unstructured.Unstructured) string {
	switch uid := object.UID(a.state(info)); {
	case uid != "" && uid != live.GetUID():
		return "it was replaced by another object with the same name"
	case uid == "" && object.CheckOwner(live, a.config.Owner) != nil:
		return "it is not labelled as owned by the release"
	}
	return ""
}

// state returns an object in the state that the server returned when the object was
// written.
func (a *Applier) state(info *object.Info) *object.Info {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.states.Of(info)
}

// CertainlyCreated returns the objects of created, a list from Created, in the states that
// the server returned. It omits an object if the server did not answer the create request
// and another owner created the object. c reads these objects from the cluster.
func (a *Applier) CertainlyCreated(ctx context.Context, c cluster.Reader, created kube.ResourceList) (kube.ResourceList, error) {
	a.mu.Lock()
	states := a.states.All(created)
	unanswered := created.Filter(func(info *object.Info) bool { return a.states[info] == nil })
	a.mu.Unlock()
	if len(unanswered) == 0 { // always so with a custom Kubernetes client
		return states, nil
	}
	live, err := c.Live(ctx, unanswered)
	if err != nil {
		return nil, err
	}
	return states.Filter(func(info *object.Info) bool {
		return live[info] == nil || a.WhyNotCreated(info, live[info]) == ""
	}), nil
}

// Adopted returns the objects that existed before the operation although no revision of the
// release declares them.
func (a *Applier) Adopted() map[sequencer.ID]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	ids := map[sequencer.ID]bool{}
	for info := range a.present {
		ids[object.IDOf(info)] = true
	}
	return ids
}
