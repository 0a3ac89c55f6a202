// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"cmp"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/field"
)

const conditionTrue = "True"

func inProgress(reason, format string, values ...any) Status {
	return Status{State: InProgress, Reason: reason, Message: fmt.Sprintf(format, values...)}
}

func ready(reason, format string, values ...any) Status {
	return Status{State: Ready, Reason: reason, Message: fmt.Sprintf(format, values...)}
}

// conditionText returns the reason and the message of a condition. Either can be empty.
func conditionText(c field.StatusCondition) string {
	if c.Reason == "" || c.Message == "" {
		return c.Reason + c.Message
	}
	return c.Reason + ": " + c.Message
}

func jobStatus(obj *unstructured.Unstructured) Status {
	if field.FindCondition(obj.Object, "Complete").Status == conditionTrue {
		return ready("Complete", "complete, succeeded: %d", field.Int(obj.Object, 0, "status", "succeeded"))
	}
	if failed := field.FindCondition(obj.Object, "Failed"); failed.Status == conditionTrue {
		return Status{State: Failed, Reason: cmp.Or(failed.Reason, "JobFailed"), Message: cmp.Or(failed.Message, "the job failed")}
	}
	if field.Bool(obj.Object, "spec", "suspend") {
		return inProgress("Suspended", "suspended: it does not run until spec.suspend is removed")
	}
	if field.String(obj.Object, "status", "startTime") == "" {
		return inProgress("JobNotStarted", "not started")
	}
	return inProgress("JobRunning", "active: %d, ready: %d, succeeded: %d of %d, failed: %d",
		field.Int(obj.Object, 0, "status", "active"), field.Int(obj.Object, 0, "status", "ready"), field.Int(obj.Object, 0, "status", "succeeded"),
		field.Int(obj.Object, field.Int(obj.Object, 1, "spec", "parallelism"), "spec", "completions"),
		field.Int(obj.Object, 0, "status", "failed"))
}

// deploymentStatus computes the status of Deployments. A paused Deployment is ready, because
// its rollout does not continue by itself.
func deploymentStatus(obj *unstructured.Unstructured) Status {
	if field.Bool(obj.Object, "spec", "paused") {
		return ready("Paused", "paused, ready: %d of %d",
			field.Int(obj.Object, 0, "status", "readyReplicas"), field.Int(obj.Object, 1, "spec", "replicas"))
	}
	verdict := kstatus(obj)
	if old := field.Int(obj.Object, 0, "status", "replicas") - field.Int(obj.Object, 0, "status", "updatedReplicas"); verdict.Reason == "ExtraPods" && old > 0 {
		// The message of kstatus says that old pods are being terminated, which may not be
		// the case.
		replicas := "old replicas"
		if old == 1 {
			replicas = "old replica"
		}
		verdict.Message = fmt.Sprintf("unavailable: %d, %d %s pending termination", field.Int(obj.Object, 0, "status", "unavailableReplicas"), old, replicas)
	}
	return verdict
}

// statefulSetStatus computes the status of StatefulSets. With the update strategy OnDelete, a
// pod is updated only after somebody deletes it, so all ready pods count, even if they are
// not updated.
func statefulSetStatus(obj *unstructured.Unstructured) Status {
	if field.String(obj.Object, "spec", "updateStrategy", "type") != "OnDelete" {
		return kstatus(obj)
	}
	return onDeleteStatus(field.Int(obj.Object, 0, "status", "readyReplicas"), field.Int(obj.Object, 1, "spec", "replicas"))
}

func daemonSetStatus(obj *unstructured.Unstructured) Status {
	if field.String(obj.Object, "spec", "updateStrategy", "type") != "OnDelete" {
		return kstatus(obj)
	}
	return onDeleteStatus(field.Int(obj.Object, 0, "status", "numberReady"), field.Int(obj.Object, 0, "status", "desiredNumberScheduled"))
}

// onDeleteStatus computes the status of workloads with the update strategy OnDelete. have is
// the number of ready pods, and want is the desired number.
func onDeleteStatus(have, want int64) Status {
	if have < want {
		return inProgress("LessReady", "Ready: %d/%d", have, want)
	}
	return ready("Ready", "Ready: %d/%d, pods are updated when they are deleted (OnDelete)", have, want)
}

// replicationControllerStatus computes the status of ReplicationControllers as for
// ReplicaSets, because the fields have the same names and meanings.
func replicationControllerStatus(obj *unstructured.Unstructured) Status {
	content := maps.Clone(obj.Object)
	content["apiVersion"], content["kind"] = "apps/v1", "ReplicaSet"
	verdict := replicaSetStatus(&unstructured.Unstructured{Object: content})
	if verdict.State == Ready {
		verdict.Message = fmt.Sprintf("available, replicas: %d", field.Int(obj.Object, 0, "status", "replicas"))
	}
	return verdict
}

// replicaSetStatus computes the status of ReplicaSets. If the controller cannot create pods,
// the message contains its error.
func replicaSetStatus(obj *unstructured.Unstructured) Status {
	if failure := field.FindCondition(obj.Object, "ReplicaFailure"); failure.Status == conditionTrue {
		return inProgress(cmp.Or(failure.Reason, "ReplicaFailure"), "%s", cmp.Or(failure.Message, "pods cannot be created"))
	}
	return kstatus(obj)
}

func apiServiceStatus(obj *unstructured.Unstructured) Status {
	available := field.FindCondition(obj.Object, "Available")
	switch {
	case available.Status == conditionTrue:
		return ready("Available", "available")
	case available.Type == "":
		return inProgress(ReasonNotObserved, "not yet checked by the API server")
	}
	return inProgress("NotAvailable", "not available: %s", conditionText(available))
}
