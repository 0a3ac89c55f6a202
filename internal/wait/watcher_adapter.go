// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/podwatch"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher"
	"github.com/ordered-helm/helm/internal/watcher/notice"
)

// newWatcher returns a Watcher that watches objects until it is closed, even if ctx ends
// first. It calls notify if objects cannot be watched or the API server does not respond.
func newWatcher(ctx context.Context, c *cluster.Connection, notify func(notice.Notice)) (*watcher.Watcher, error) {
	client, err := c.DynamicNoRetry()
	if err != nil {
		return nil, err
	}
	return watcher.New(context.WithoutCancel(ctx), watcher.Config{Client: client, Notify: notify}), nil
}

// newPodWatcher returns a podwatch.Watcher that runs until it is closed, even if ctx ends
// first.
func newPodWatcher(ctx context.Context, c *cluster.Connection) (*podwatch.Watcher, error) {
	client, err := c.DynamicNoRetry()
	if err != nil {
		return nil, err
	}
	return podwatch.New(context.WithoutCancel(ctx), client), nil
}

// targetOf returns the Target with which a Watcher waits for an object. If uid is empty, the
// Target matches any object with the same name.
func targetOf(info *object.Info, uid types.UID) watcher.Target {
	return watcher.Target{
		GVR: info.Mapping.Resource, GVK: info.Mapping.GroupVersionKind,
		Namespace: object.Namespace(info), Name: info.Name, UID: uid,
	}
}

// setApplied tells a watcher.TargetGroup which versions of its objects were written, so that
// it ignores older versions. list contains the objects as the server returned them.
func setApplied(group *watcher.TargetGroup, list kube.ResourceList) error {
	for _, info := range list {
		live, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("%s: the server returned an object of type %T", object.Describe(info), info.Object)
		}
		if err := group.Applied(live); err != nil {
			return err
		}
	}
	return nil
}

// ChangeEvent returns the event that tells users about a new state of an object. node is the
// ID of the object's node in the deployment graph, or empty if there is no graph. namespace
// is the namespace of the release: the event names the object's namespace only if the two
// differ.
func ChangeEvent(report watcher.Report, node, namespace string) event.Event {
	e := event.Event{
		Type: event.ResourceChanged, Node: node, Resource: report.Target.GVK.Kind + "/" + report.Target.Name,
		State: string(report.Status.State), Message: stateAndMessage(report.Status),
	}
	if report.Target.Namespace != namespace {
		e.Namespace = report.Target.Namespace
	}
	return e
}

func stateAndMessage(s readiness.Status) string {
	if s.Message == "" || s.State == readiness.Ready {
		return string(s.State)
	}
	return fmt.Sprintf("%s: %s", s.State, s.Message)
}
