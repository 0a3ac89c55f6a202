// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"net/http"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/readiness"
)

// recheckInterval is the interval at which an unchanged object is checked again, because
// Helm's rules also read other objects, such as ReplicaSets. Helm uses the same interval.
const recheckInterval = 2 * time.Second

// helmRules decides whether objects are ready as Helm's --wait does.
type helmRules struct {
	// checker is Helm's own check. jobs says whether to wait for Jobs.
	checker kube.ReadyChecker
	jobs    bool
}

func newHelmRules(c *cluster.Connection, jobs bool) (*helmRules, error) {
	client, err := c.Clientset()
	if err != nil {
		return nil, err
	}
	return &helmRules{
		checker: kube.NewReadyChecker(client, c.Log, kube.PausedAsReady(true), kube.CheckJobs(jobs)), jobs: jobs,
	}, nil
}

// waitsFor reports whether Helm waits for objects of a kind.
func (r *helmRules) waitsFor(kind schema.GroupKind) bool {
	switch kind.String() {
	case "Pod", "PersistentVolumeClaim", "Service", "ReplicationController",
		"Deployment.apps", "Deployment.extensions", "DaemonSet.apps", "DaemonSet.extensions",
		"ReplicaSet.apps", "ReplicaSet.extensions", "StatefulSet.apps", "CustomResourceDefinition.apiextensions.k8s.io":
		return true
	case "Job.batch":
		return r.jobs
	}
	return false
}

// evaluator returns an Evaluator for one object that follows Helm's rules. If the content
// of the object is not sufficient to decide, it calls Helm's checker, which reads the
// object and related objects.
func (r *helmRules) evaluator(info *object.Info) readiness.Evaluator {
	if !r.waitsFor(info.Mapping.GroupVersionKind.GroupKind()) {
		return func(context.Context, *unstructured.Unstructured) readiness.Status {
			return readiness.Status{State: readiness.Ready, Reason: "NotWaitedFor"}
		}
	}
	own := *info // the checker may change it
	// checked is the resource version that was evaluated last.
	checked := ""
	return func(ctx context.Context, obj *unstructured.Unstructured) readiness.Status {
		status := readiness.Compute(obj)
		again := obj.GetResourceVersion() != "" && obj.GetResourceVersion() == checked
		checked = obj.GetResourceVersion()
		switch {
		case status.State == readiness.Failed, status.State == readiness.Ready && isReadyForHelm(obj):
			return status
		case !again && (status.Reason == readiness.ReasonGenerationNotObserved || status.Reason == readiness.ReasonNotObserved):
			status.RecheckAfter = recheckInterval // Helm's checker decides then
			return status
		}
		return r.check(ctx, &own, obj, status)
	}
}

// check asks Helm's checker whether an object is ready. status is the result of
// readiness.Compute for obj.
func (r *helmRules) check(ctx context.Context, info *object.Info, obj *unstructured.Unstructured, status readiness.Status) readiness.Status {
	ready, err := r.checker.IsReady(ctx, info)
	switch {
	case err == nil && ready:
		return readiness.Status{State: readiness.Ready, Reason: "Ready"}
	case apierrors.IsNotFound(err):
		return readiness.Status{State: readiness.Failed, Reason: "Deleted", Message: "deleted while waiting for it: " + err.Error()}
	case err != nil && !isTemporary(err):
		return readiness.Status{State: readiness.Failed, Reason: "CheckFailed", Message: err.Error()}
	case err != nil && ctx.Err() == nil:
		return readiness.Status{State: readiness.InProgress, Reason: "CheckFailed", Message: err.Error(), RecheckAfter: recheckInterval}
	case status.State == readiness.Ready: // Helm requires more
		status = readiness.Status{Reason: "NotReady", Message: missingForHelm(obj)}
	}
	status.State, status.RecheckAfter = readiness.InProgress, recheckInterval
	return status
}

// isReadyForHelm reports whether Helm considers every object of this kind ready that
// readiness.Compute considers ready.
func isReadyForHelm(obj *unstructured.Unstructured) bool {
	switch obj.GroupVersionKind().GroupKind().String() {
	case "Deployment.apps", "DaemonSet.apps", "StatefulSet.apps":
		return true
	}
	return false
}

// missingForHelm says what Helm still waits for, for an object that readiness.Compute
// considers ready.
func missingForHelm(obj *unstructured.Unstructured) string {
	switch obj.GetKind() {
	case "Service":
		return "the load balancer has no address yet"
	case "Pod":
		return "the pod completed, but --wait waits for pods to be Ready"
	}
	return ""
}

// isTemporary reports whether another check can succeed after an error of a check.
func isTemporary(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code == 0 || code == http.StatusTooManyRequests || code >= 500 && code != http.StatusNotImplemented
}
