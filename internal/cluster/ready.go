// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"net/http"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ordered-helm/helm/internal/readiness"
)

// askAgain is after what time Helm's checker is asked again although the object
// did not change: it looks at other objects too. It is Helm's own interval.
const askAgain = 2 * time.Second

// ReadyRules judge objects as Helm's --wait does.
type ReadyRules struct {
	checker kube.ReadyChecker
	jobs    bool
}

// ReadyRules returns Helm's rules; Jobs count only if jobs is set.
func (c *Client) ReadyRules(jobs bool) (*ReadyRules, error) {
	client, err := c.Clientset()
	if err != nil {
		return nil, err
	}
	return &ReadyRules{
		checker: kube.NewReadyChecker(client, c.log, kube.PausedAsReady(true), kube.CheckJobs(jobs)), jobs: jobs,
	}, nil
}

// Checks reports whether Helm waits for objects of that kind at all.
func (r *ReadyRules) Checks(kind schema.GroupKind) bool {
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

// Of returns the rule for one object. What it finds out from the object alone
// costs no request; for the rest it asks Helm's checker, which reads the object
// and what belongs to it.
func (r *ReadyRules) Of(info *resource.Info) readiness.Evaluator {
	if !r.Checks(info.Mapping.GroupVersionKind.GroupKind()) {
		return func(context.Context, *unstructured.Unstructured) readiness.Status {
			return readiness.Status{State: readiness.Ready, Reason: "NotWaitedFor"}
		}
	}
	own := *info // the checker may read into it
	judged := ""
	return func(ctx context.Context, obj *unstructured.Unstructured) readiness.Status {
		seen := readiness.Compute(obj)
		again := obj.GetResourceVersion() != "" && obj.GetResourceVersion() == judged
		judged = obj.GetResourceVersion()
		switch {
		case seen.State == readiness.Failed, seen.State == readiness.Ready && sufficient(obj):
			return seen
		case !again && (seen.Reason == readiness.ReasonGenerationNotObserved || seen.Reason == readiness.ReasonNotObserved):
			seen.RecheckAfter = askAgain // by then without regard to what was seen
			return seen
		}
		return r.ask(ctx, &own, obj, seen)
	}
}

// ask has Helm's checker judge an object, of which seen is our own verdict.
func (r *ReadyRules) ask(ctx context.Context, info *resource.Info, obj *unstructured.Unstructured, seen readiness.Status) readiness.Status {
	ready, err := r.checker.IsReady(ctx, info)
	switch {
	case err == nil && ready:
		return readiness.Status{State: readiness.Ready, Reason: "Ready"}
	case apierrors.IsNotFound(err):
		return readiness.Status{State: readiness.Failed, Reason: "Deleted", Message: "it was deleted while it was waited for: " + err.Error()}
	case err != nil && !passing(err):
		return readiness.Status{State: readiness.Failed, Reason: "CheckFailed", Message: err.Error()}
	case err != nil && ctx.Err() == nil:
		return readiness.Status{State: readiness.InProgress, Reason: "CheckFailed", Message: err.Error(), RecheckAfter: askAgain}
	case seen.State == readiness.Ready: // Helm asks for more
		seen = readiness.Status{Reason: "NotReady", Message: wanted(obj)}
	}
	seen.State, seen.RecheckAfter = readiness.InProgress, askAgain
	return seen
}

// sufficient tells the kinds that are ready for Helm whenever they are for us.
func sufficient(obj *unstructured.Unstructured) bool {
	switch obj.GroupVersionKind().GroupKind().String() {
	case "Deployment.apps", "DaemonSet.apps", "StatefulSet.apps":
		return true
	}
	return false
}

// wanted says what Helm waits for in an object that kstatus finds ready.
func wanted(obj *unstructured.Unstructured) string {
	switch obj.GetKind() {
	case "Service":
		return "no address from the load balancer so far"
	case "Pod":
		return "it ran to its end, and --wait waits until a Pod is Ready"
	}
	return ""
}

// passing reports whether asking again may help.
func passing(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code == 0 || code == http.StatusTooManyRequests || code >= 500 && code != http.StatusNotImplemented
}
