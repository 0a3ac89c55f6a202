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

// recheckInterval is the interval at which even an unchanged object is checked again, because
// Helm's rules also depend on other objects, such as ReplicaSets. Helm uses the same interval.
const recheckInterval = 2 * time.Second

// helmReadinessRules decides as Helm's --wait does whether objects are ready.
type helmReadinessRules struct {
	// checker is Helm's own check. jobs says whether to wait until Jobs are complete.
	checker kube.ReadyChecker
	jobs    bool
}

func newHelmRules(c *cluster.Connection, jobs bool) (*helmReadinessRules, error) {
	client, err := c.Clientset()
	if err != nil {
		return nil, err
	}
	return &helmReadinessRules{
		checker: kube.NewReadyChecker(client, c.Log, kube.PausedAsReady(true), kube.CheckJobs(jobs)), jobs: jobs,
	}, nil
}

// waitsFor reports whether Helm waits for objects of a kind.
func (r *helmReadinessRules) waitsFor(kind schema.GroupKind) bool {
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

// evaluator returns an Evaluator that decides by Helm's rules whether one object is ready.
// It calls Helm's checker, which reads the object again, and related objects, only if the
// content of the object does not suffice.
func (r *helmReadinessRules) evaluator(info *object.Info) readiness.Evaluator {
	if !r.waitsFor(info.Mapping.GroupVersionKind.GroupKind()) {
		return func(context.Context, *unstructured.Unstructured) readiness.Status {
			return readiness.Status{State: readiness.Ready, Reason: "NotWaitedFor"}
		}
	}
	own := *info // the checker may change it
	// checked is the resource version for which the Evaluator was last called.
	checked := ""
	return func(ctx context.Context, obj *unstructured.Unstructured) readiness.Status {
		status := readiness.Compute(obj)
		again := obj.GetResourceVersion() != "" && obj.GetResourceVersion() == checked
		checked = obj.GetResourceVersion()
		switch {
		case status.State == readiness.Failed, status.State == readiness.Ready && isReadyForHelm(obj):
			return status
		case !again && (status.Reason == readiness.ReasonGenerationNotObserved || status.Reason == readiness.ReasonNotObserved):
			status.RecheckAfter = recheckInterval // if nothing changes until then, Helm's checker decides
			return status
		}
		return r.check(ctx, &own, obj, status)
	}
}

// check asks Helm's checker whether an object is ready. status is readiness.Compute(obj).
func (r *helmReadinessRules) check(ctx context.Context, info *object.Info, obj *unstructured.Unstructured, status readiness.Status) readiness.Status {
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

// isReadyForHelm reports whether Helm, too, considers an object ready, given that
// readiness.Compute does. This depends only on the kind of the object.
func isReadyForHelm(obj *unstructured.Unstructured) bool {
	switch obj.GroupVersionKind().GroupKind().String() {
	case "Deployment.apps", "DaemonSet.apps", "StatefulSet.apps":
		return true
	}
	return false
}

// missingForHelm returns a message that says why an object that readiness.Compute considers
// ready is not ready by Helm's rules.
func missingForHelm(obj *unstructured.Unstructured) string {
	switch obj.GetKind() {
	case "Service":
		return "the load balancer has no address yet"
	case "Pod":
		return "the pod completed, but --wait waits for pods to be Ready"
	}
	return ""
}

// isTemporary reports whether a check that failed with err can succeed if it is repeated.
func isTemporary(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code == 0 || code == http.StatusTooManyRequests || code >= 500 && code != http.StatusNotImplemented
}
