// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// State says whether an object is ready, or whether it can still become ready.
type State string

const (
	// Ready means that objects that depend on the object can be deployed.
	Ready State = "Ready"
	// InProgress means that the object is not ready, but can still become ready, even if it
	// reports a problem.
	InProgress State = "InProgress"
	// Failed means that the object will not become ready.
	Failed State = "Failed"
	// Terminating means that the object is being deleted.
	Terminating State = "Terminating"
	// Missing means that the object does not exist in the cluster. Evaluators never return
	// this state, but MissingStatus does.
	Missing State = "Missing"
)

// Status is the result of an Evaluator for one version of an object.
type Status struct {
	State State
	// Reason is one word in CamelCase, for programs.
	Reason string
	// Message is for users. It can be empty.
	Message string
	// RecheckAfter, if positive, is the time after which the Evaluator must be called again
	// even if the object has not changed, because the status also depends on other objects.
	RecheckAfter time.Duration
}

// Evaluator returns the Status of one version of an object. It must not change obj, and must
// return early when ctx is done.
type Evaluator func(ctx context.Context, obj *unstructured.Unstructured) Status

// ruleFor returns the function that computes the status of objects of a kind: kstatus, or our
// own rule where kstatus does not know the kind or where we need a different result. Compute
// checks the deletion timestamp and the generation before it calls the function.
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

// Compute returns the status of an object, computed only from its content.
//
// The result differs from that of kstatus as follows. A Job is ready when it is complete. A
// Pod in the phase Failed has failed. An APIService is ready when it is Available.
// StatefulSets and DaemonSets with the update strategy OnDelete are ready when enough of
// their pods are ready, even old ones, because no controller replaces them. A paused
// Deployment is ready. No object is ready before its controller has observed the current
// generation; workloads and PodDisruptionBudgets also need an observed generation.
//
// Only Jobs and Pods can be Failed. Other problems that kstatus reports as failures may
// resolve themselves: an exceeded progress deadline, a crash loop, a pod that cannot be
// scheduled, a Stalled condition, or a CustomResourceDefinition whose names are not
// accepted. In these cases the state is InProgress, and the message describes the problem.
func Compute(obj *unstructured.Unstructured) Status {
	if obj.GetDeletionTimestamp() != nil {
		return TerminatingStatus(obj)
	}
	if lag, lags := generationLag(obj); lags {
		return lag
	}
	return ruleFor(obj.GroupVersionKind().GroupKind())(obj)
}

// kstatus returns the status that the kstatus library computes, but never the state Failed.
func kstatus(obj *unstructured.Unstructured) Status {
	result, err := status.Compute(forKstatus(obj))
	if err != nil {
		unreadable := Status{State: InProgress, Reason: "StatusUnreadable", Message: err.Error()}
		if status.GetLegacyConditionsFn(obj) == nil {
			// A custom resource whose status field kstatus cannot read is treated like one
			// without conditions: it is ready immediately.
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
	verdict.Reason = cmp.Or(verdict.Reason, string(verdict.State))
	return verdict
}
