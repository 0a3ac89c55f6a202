// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// State is how far an object has come.
type State string

const (
	// Ready objects may be relied upon.
	Ready State = "Ready"
	// InProgress objects are not ready, and may still become so, whatever
	// trouble they report at the moment.
	InProgress State = "InProgress"
	// Failed objects cannot become ready any more.
	Failed State = "Failed"
	// Terminating objects are being deleted.
	Terminating State = "Terminating"
	// Missing objects are not on the server. Only a Tracker finds this.
	Missing State = "Missing"
)

// Status is the verdict on one version of an object.
type Status struct {
	State State
	// Reason is one CamelCase word, for programs.
	Reason string
	// Message is for people; it may be empty.
	Message string
	// RecheckAfter, when above zero, asks for a new verdict after that time even if
	// the object does not change by then.
	RecheckAfter time.Duration
}

// Evaluator judges one version of an object. It must not change the object, and
// returns early when the context ends.
type Evaluator func(ctx context.Context, obj *unstructured.Unstructured) Status

// ruleFor returns the rule for a kind that kstatus does not know or judges
// otherwise than a rollout needs, or kstatus itself. Deletion and generation
// are checked before.
func ruleFor(kind schema.GroupKind) func(*unstructured.Unstructured) Status {
	switch kind.String() {
	case "Job.batch":
		return jobStatus
	case "Pod":
		return podStatus
	case "ReplicationController":
		return requireObserved(replicationControllerStatus)
	case "Deployment.apps":
		return requireObserved(deploymentStatus)
	case "StatefulSet.apps":
		return requireObserved(statefulSetStatus)
	case "DaemonSet.apps":
		return requireObserved(daemonSetStatus)
	case "ReplicaSet.apps":
		return requireObserved(replicaSetStatus)
	case "PodDisruptionBudget.policy":
		return requireObserved(kstatus)
	case "APIService.apiregistration.k8s.io":
		return apiServiceStatus
	}
	return kstatus
}

// Compute judges an object by its content alone.
//
// It differs from kstatus in this: a Job is ready when it is complete; a Pod
// that failed has failed for good; an APIService is ready when it is Available;
// StatefulSets and DaemonSets with the OnDelete strategy are ready by their
// ready pods, because no controller replaces these; a paused Deployment is
// ready; a generation that the controller has not observed yet is never ready,
// in workloads and disruption budgets even when nothing was observed so far.
//
// Only a Job or Pod that failed is Failed. All else that kstatus calls failed
// (an exceeded progress deadline, a crash loop, a pod that fits on no node, a
// Stalled condition, refused names of a custom resource definition) can heal
// without a new write, so it is InProgress and says what is wrong.
func Compute(obj *unstructured.Unstructured) Status {
	if obj.GetDeletionTimestamp() != nil {
		return TerminatingStatus(obj)
	}
	if lag, lags := generationLag(obj); lags {
		return lag
	}
	return ruleFor(obj.GroupVersionKind().GroupKind())(obj)
}

// kstatus asks the library and translates its verdict.
func kstatus(obj *unstructured.Unstructured) Status {
	result, err := status.Compute(forKstatus(obj))
	if err != nil {
		unreadable := Status{State: InProgress, Reason: "StatusUnreadable", Message: err.Error()}
		if status.GetLegacyConditionsFn(obj) == nil {
			// A custom resource with a status of its own design is treated like
			// one without: there is nothing to wait for.
			unreadable.State = Ready
		}
		return unreadable
	}
	verdict := Status{Message: result.Message}
	if len(result.Conditions) > 0 {
		condition := result.Conditions[0]
		verdict.Reason = condition.Reason
		if condition.Message != "" && condition.Message != result.Message {
			verdict.Message = result.Message + ": " + condition.Message
		}
	}
	switch result.Status {
	case status.CurrentStatus:
		verdict.State = Ready
	case status.TerminatingStatus:
		verdict.State = Terminating
	default:
		verdict.State = InProgress
	}
	if verdict.Reason == "" {
		verdict.Reason = string(verdict.State)
	}
	return verdict
}
