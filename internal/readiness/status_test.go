// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

type statusCase struct {
	name    string
	object  string
	state   State
	reason  string
	message string // a part of the message
}

func runStatusCases(t *testing.T, cases []statusCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := Compute(fakeapi.Object(t, c.object))
			if got.State != c.state || c.reason != "" && got.Reason != c.reason || !strings.Contains(got.Message, c.message) {
				t.Errorf("got %s, reason %q, message %q\nwant %s, reason %q, message with %q",
					got.State, got.Reason, got.Message, c.state, c.reason, c.message)
			}
		})
	}
}

func TestComputeWorkloads(t *testing.T) {
	runStatusCases(t, []statusCase{
		{"deployment just created", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1},
			spec: {replicas: 1, progressDeadlineSeconds: 600}}`, InProgress, "NotObserved", "spec update to be observed"},
		{"deployment of no replicas just created", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1},
			spec: {replicas: 0}}`, InProgress, "NotObserved", ""},
		{"deployment available", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 2},
			spec: {replicas: 2, progressDeadlineSeconds: 600},
			status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2, conditions: [
			{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}}`, Ready, "", "Deployment is available"},
		{"deployment with an old generation observed", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 3},
			spec: {replicas: 2, progressDeadlineSeconds: 600},
			status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2, conditions: [
			{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]}}`,
			InProgress, "LatestGenerationNotObserved", "generation 3"},
		{"deployment short of pods", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1},
			spec: {replicas: 2}, status: {observedGeneration: 1, replicas: 2, updatedReplicas: 2, readyReplicas: 1, availableReplicas: 1}}`,
			InProgress, "LessAvailable", "Available: 1/2"},
		{"deployment whose new pods do not come up", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 2},
			spec: {replicas: 2},
			status: {observedGeneration: 2, replicas: 3, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2, unavailableReplicas: 1}}`,
			InProgress, "ExtraPods", "unavailable: 1, 1 old replica pending termination"},
		{"deployment out of its progress deadline may heal", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1},
			spec: {replicas: 1, progressDeadlineSeconds: 600}, status: {observedGeneration: 1, conditions: [
			{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: 'ReplicaSet "a-1" has timed out progressing.'}]}}`,
			InProgress, "ProgressDeadlineExceeded", "timed out progressing"},
		{"deployment paused", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1},
			spec: {replicas: 2, paused: true}, status: {observedGeneration: 1, replicas: 0}}`, Ready, "Paused", "paused"},
		{"deployment paused and not observed", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 2},
			spec: {paused: true}, status: {observedGeneration: 1}}`, InProgress, "LatestGenerationNotObserved", ""},
		{"deployment being deleted", `{apiVersion: apps/v1, kind: Deployment,
			metadata: {name: a, deletionTimestamp: "2024-01-01T00:00:00Z", finalizers: [foregroundDeletion, x.example/y]}}`,
			Terminating, "Terminating", "foregroundDeletion, x.example/y"},

		{"replica set just created", `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a, generation: 1}, spec: {replicas: 0}}`,
			InProgress, "NotObserved", ""},
		{"replica set available", `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a, generation: 1}, spec: {replicas: 1},
			status: {observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1, fullyLabeledReplicas: 1}}`, Ready, "", ""},
		{"replica set stopped by a quota may heal", `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a, generation: 1}, spec: {replicas: 1},
			status: {observedGeneration: 1, conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate}]}}`,
			InProgress, "FailedCreate", "pods cannot be created"},
		{"replication controller short of pods", `{apiVersion: v1, kind: ReplicationController, metadata: {name: a, generation: 1}, spec: {replicas: 2},
			status: {observedGeneration: 1, replicas: 2, readyReplicas: 1, availableReplicas: 1, fullyLabeledReplicas: 2}}`, InProgress, "LessAvailable", ""},
		{"replication controller available", `{apiVersion: v1, kind: ReplicationController, metadata: {name: a, generation: 1}, spec: {replicas: 1},
			status: {observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1, fullyLabeledReplicas: 1}}`, Ready, "", "replicas: 1"},

		{"stateful set just created", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, generation: 1}, spec: {replicas: 0}}`,
			InProgress, "NotObserved", ""},
		{"stateful set rolled out", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, generation: 1},
			spec: {replicas: 2, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}},
			status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, currentReplicas: 2, updatedReplicas: 2, currentRevision: r, updateRevision: r}}`,
			Ready, "", ""},
		{"stateful set half way", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, generation: 1}, spec: {replicas: 2},
			status: {observedGeneration: 1, replicas: 2, readyReplicas: 1, currentReplicas: 2, updatedReplicas: 2}}`, InProgress, "LessReady", "1/2"},
		{"stateful set updated down to its partition", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, generation: 2},
			spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}},
			status: {observedGeneration: 2, replicas: 3, readyReplicas: 3, currentReplicas: 2, updatedReplicas: 1, currentRevision: a, updateRevision: b}}`,
			Ready, "", "updated: 1"},
		{"stateful set with the partition outstanding", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, generation: 2},
			spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}},
			status: {observedGeneration: 2, replicas: 3, readyReplicas: 3, currentReplicas: 2, updatedReplicas: 1, currentRevision: a, updateRevision: b}}`,
			InProgress, "PartitionRollout", "1/2"},
		{"stateful set on delete, pods ready, update outstanding", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, generation: 2},
			spec: {replicas: 2, updateStrategy: {type: OnDelete}},
			status: {observedGeneration: 2, replicas: 2, readyReplicas: 2, currentReplicas: 2, updatedReplicas: 0, currentRevision: a, updateRevision: b}}`,
			Ready, "", "2/2"},
		{"stateful set on delete, short of ready pods", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, generation: 1},
			spec: {replicas: 2, updateStrategy: {type: OnDelete}}, status: {observedGeneration: 1, replicas: 2, readyReplicas: 1}}`,
			InProgress, "LessReady", "1/2"},
		{"stateful set on delete, not observed", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, generation: 1},
			spec: {replicas: 1, updateStrategy: {type: OnDelete}}, status: {}}`, InProgress, "NotObserved", ""},

		{"daemon set just created", `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, generation: 1}, spec: {}}`, InProgress, "NotObserved", ""},
		{"daemon set everywhere", `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, generation: 1}, spec: {},
			status: {observedGeneration: 1, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2, numberReady: 2}}`,
			Ready, "", ""},
		{"daemon set that fits on no node", `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, generation: 1}, spec: {},
			status: {observedGeneration: 1, desiredNumberScheduled: 0, currentNumberScheduled: 0}}`, Ready, "", ""},
		{"daemon set without room on one node", `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, generation: 1}, spec: {},
			status: {observedGeneration: 1, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 1, numberReady: 1}}`,
			InProgress, "LessAvailable", "1/2"},
		{"daemon set on delete, update outstanding", `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, generation: 2},
			spec: {updateStrategy: {type: OnDelete}},
			status: {observedGeneration: 2, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 0, numberAvailable: 2, numberReady: 2}}`,
			Ready, "", ""},
	})
}

func TestComputeJobsAndPods(t *testing.T) {
	runStatusCases(t, []statusCase{
		{"job just created", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {}}`, InProgress, "JobNotStarted", ""},
		{"job running", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {completions: 3},
			status: {startTime: "2024-01-01T00:00:00Z", active: 1, succeeded: 2, failed: 1}}`, InProgress, "JobRunning", "succeeded: 2 of 3, failed: 1"},
		{"job suspended", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {suspend: true},
			status: {conditions: [{type: Suspended, status: "True"}]}}`, InProgress, "Suspended", ""},
		{"job whose failure is being settled", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {},
			status: {startTime: "2024-01-01T00:00:00Z", active: 1, conditions: [{type: FailureTarget, status: "True"}]}}`, InProgress, "JobRunning", ""},
		{"job complete", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {},
			status: {startTime: "2024-01-01T00:00:00Z", succeeded: 1, conditions: [{type: Complete, status: "True"}]}}`, Ready, "Complete", ""},
		{"job failed", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {}, status: {failed: 7, conditions: [
			{type: Failed, status: "True", reason: BackoffLimitExceeded, message: "Job has reached the specified backoff limit"}]}}`,
			Failed, "BackoffLimitExceeded", "backoff limit"},
		{"cron job", `{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, generation: 1}, spec: {schedule: "0 * * * *"}}`, Ready, "", ""},
		{"cron job suspended", `{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, generation: 1}, spec: {suspend: true}}`, Ready, "", ""},

		{"pod just created", `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}`, InProgress, "PodNotObserved", ""},
		{"pod pending", `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Pending,
			containerStatuses: [{name: c, state: {waiting: {reason: ContainerCreating}}}]}}`, InProgress, "PodNotReady", "Pending"},
		{"pod that fits on no node may heal", `{apiVersion: v1, kind: Pod, metadata: {name: a, creationTimestamp: "2020-01-01T00:00:00Z"},
			status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/3 nodes are available"}]}}`,
			InProgress, "Unschedulable", "0/3 nodes"},
		{"pod running", `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Running, conditions: [{type: Ready, status: "False"}]}}`,
			InProgress, "PodNotReady", "Running"},
		{"pod ready", `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`, Ready, "Ready", ""},
		{"pod succeeded", `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Succeeded, conditions: [{type: Ready, status: "False"}]}}`,
			Ready, "Succeeded", ""},
		{"pod failed", `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {restartPolicy: Never}, status: {phase: Failed,
			containerStatuses: [{name: ok, state: {terminated: {exitCode: 0}}}, {name: c, state: {terminated: {exitCode: 3}}}]}}`,
			Failed, "PodFailed", "container c exited with code 3"},
		{"pod evicted", `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {restartPolicy: Always},
			status: {phase: Failed, reason: Evicted, message: "The node was low on memory."}}`, Failed, "Evicted", "low on memory"},
		{"pod crash looping may heal", `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Running,
			containerStatuses: [{name: c, state: {waiting: {reason: CrashLoopBackOff, message: "back-off 10s"}}}]}}`,
			InProgress, "CrashLoopBackOff", "container c"},
		{"pod without its image may heal", `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Pending,
			initContainerStatuses: [{name: i, state: {waiting: {reason: ImagePullBackOff}}}],
			containerStatuses: [{name: c, state: {waiting: {reason: PodInitializing}}}]}}`, InProgress, "ImagePullBackOff", "container i"},
		{"pod on a lost node", `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Unknown}}`, InProgress, "PodNotReady", "Unknown"},
	})
}

func TestComputeOtherKinds(t *testing.T) {
	runStatusCases(t, []statusCase{
		{"config map", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, Ready, "", ""},
		{"service", `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.1}}`, Ready, "", ""},
		{"service of an external name", `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: ExternalName, externalName: x.example}}`, Ready, "", ""},
		{"load balancer without address", `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: LoadBalancer, clusterIP: 10.0.0.1},
			status: {loadBalancer: {}}}`, Ready, "", ""},
		{"load balancer without cluster address", `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: LoadBalancer}}`, InProgress, "NoIPAssigned", ""},
		{"ingress", `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a, generation: 1}, status: {loadBalancer: {}}}`, Ready, "", ""},
		{"autoscaler", `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a}, status: {conditions: [
			{type: ScalingActive, status: "False", reason: FailedGetResourceMetric}]}}`, Ready, "", ""},
		{"disruption budget just created", `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a, generation: 1}}`, InProgress, "NotObserved", ""},
		{"disruption budget observed", `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a, generation: 1}, status: {observedGeneration: 1}}`, Ready, "", ""},
		{"disruption budget with an old generation observed", `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a, generation: 2},
			status: {observedGeneration: 1}}`, InProgress, "LatestGenerationNotObserved", ""},
		{"claim pending", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, status: {phase: Pending}}`, InProgress, "NotBound", "Pending"},
		{"claim bound", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, status: {phase: Bound}}`, Ready, "", ""},

		{"definition just created", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a, generation: 1}}`, InProgress, "Installing", ""},
		{"definition with accepted names", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, status: {conditions: [
			{type: NamesAccepted, status: "True"}, {type: Established, status: "False", reason: Installing}]}}`, InProgress, "", ""},
		{"definition established", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, status: {conditions: [
			{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]}}`, Ready, "", ""},
		{"definition with taken names may heal", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, status: {conditions: [
			{type: NamesAccepted, status: "False", reason: ListKindConflict, message: "FooList is taken"}]}}`, InProgress, "ListKindConflict", "FooList is taken"},

		{"API service just created", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}}`, InProgress, "NotObserved", ""},
		{"API service not available", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, status: {conditions: [
			{type: Available, status: "False", reason: MissingEndpoints, message: "no endpoints"}]}}`, InProgress, "NotAvailable", "MissingEndpoints: no endpoints"},
		{"API service available", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, status: {conditions: [
			{type: Available, status: "True", reason: Passed}]}}`, Ready, "Available", ""},
	})
}

func TestComputeCustomResources(t *testing.T) {
	runStatusCases(t, []statusCase{
		{"without status", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a, generation: 1}}`, Ready, "", ""},
		{"ready", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a, generation: 1}, status: {observedGeneration: 1, conditions: [
			{type: Ready, status: "True"}]}}`, Ready, "", "Ready"},
		{"not ready", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a, generation: 1}, status: {conditions: [
			{type: Ready, status: "False", reason: Building, message: "layer 2"}]}}`, InProgress, "Building", "layer 2"},
		{"with an old generation observed", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a, generation: 2}, status: {observedGeneration: 1, conditions: [
			{type: Ready, status: "True"}]}}`, InProgress, "LatestGenerationNotObserved", ""},
		{"with an old generation observed, as text", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a, generation: 2}, status: {observedGeneration: "1"}}`,
			InProgress, "LatestGenerationNotObserved", ""},
		{"with the generation observed, as text", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a, generation: 2}, status: {observedGeneration: "2", conditions: [
			{type: Ready, status: "False", reason: Building}]}}`, InProgress, "Building", ""},
		{"with a hash for the generation", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a, generation: 2}, status: {observedGeneration: 7f6d8c}}`, Ready, "", ""},
		{"stalled may heal", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a}, status: {conditions: [
			{type: Stalled, status: "True", reason: Broken, message: "no such bucket"}]}}`, InProgress, "Broken", "no such bucket"},
		{"reconciling", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a}, status: {conditions: [
			{type: Ready, status: "True"}, {type: Reconciling, status: "True", reason: Working}]}}`, InProgress, "Working", ""},
		{"with conditions that cannot be read", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a}, status: {conditions: {Ready: true}}}`,
			Ready, "StatusUnreadable", ""},
		{"with a status of one word", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a, generation: 1}, status: fine}`, Ready, "StatusUnreadable", ""},
		{"built-in kind with conditions that cannot be read", `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a}, status: {observedGeneration: 1, conditions: {a: b}}}`,
			InProgress, "StatusUnreadable", ""},
	})
}

func TestHasReadiness(t *testing.T) {
	for _, c := range []struct {
		name   string
		object string
		want   bool
	}{
		{"core kind", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, true},
		{"built-in group", `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}}`, true},
		{"custom resource definition", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}`, true},
		{"API service", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}}`, true},
		{"custom group of a Kubernetes project", `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: a}}`, false},
		{"no status", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a}}`, false},
		{"other conditions", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a}, status: {conditions: [{type: Accepted, status: "True"}]}}`, false},
		{"ready condition", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a}, status: {conditions: [{type: Ready, status: "False"}]}}`, true},
		{"stalled condition", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a}, status: {conditions: [{type: Stalled, status: "False"}]}}`, true},
		{"observed generation", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a}, status: {observedGeneration: 1}}`, true},
		{"conditions that cannot be read", `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a}, status: {conditions: [1, two]}}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ReportsReadiness(fakeapi.Object(t, c.object)); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
