// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"testing"

	"github.com/ordered-helm/helm/test/harness"
)

func TestReadinessOfDeployments(t *testing.T) {
	t.Parallel()
	of := func(play string, spec ...string) string {
		return workload{kind: "Deployment", play: play, spec: spec}.manifest()
	}
	withPod := func(play, pod string) string {
		return workload{kind: "Deployment", play: play, pod: pod}.manifest()
	}
	ownDeadline := "progressDeadlineSeconds: 1"
	late := harness.HasCondition("Progressing", "False", "ProgressDeadlineExceeded")
	runReadiness(t, "deployment", []readinessCase{
		{name: "ready", manifest: of("")},
		{name: "slow", manifest: of(slowly, "replicas: 2")},
		{name: "paused is ready", manifest: of(never, "paused: true"), ready: always},
		{name: "without replicas is ready", manifest: of("", "replicas: 0"), ready: hasField("status.observedGeneration", "1")},
		{name: "that heals after its progress deadline", manifest: of("devcluster/after: 3s", ownDeadline), through: late},
		{
			name:     "that heals from a crash loop is waited for and shown",
			manifest: of(crashes + `, devcluster/after: 1s, devcluster/times: "4"`), says: []string{"container main: ", "exited with code 1"},
		},
		{
			name:     "whose missing ConfigMap is created meanwhile",
			manifest: withPod("", `containers: [{name: main, image: i, envFrom: [{configMapRef: {name: settings}}]}]`),
			play:     createWhenPodWaits("CreateContainerConfigError", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}"),
		},
		{name: "whose probe fails", manifest: of(never), fails: true},
		{name: "past its progress deadline", manifest: of(never, ownDeadline), annotations: []string{"helm.sh/readiness-timeout: 4s"}, fails: true},
		{name: "in a crash loop", manifest: withPod(crashes, `containers: [{name: main, image: i, env: [{name: PASSWORD, value: hunter2}]}]`), fails: true},
		{
			name:     "with one of two containers in a crash loop",
			manifest: withPod(crashes+", devcluster/container: proxy", `containers: [{name: main, image: i}, {name: proxy, image: p}]`), fails: true,
		},
		{
			name:     "with an init container that fails",
			manifest: withPod(crashes+", devcluster/container: prepare", `initContainers: [{name: prepare, image: p}], `+mainContainer), fails: true,
		},
		{
			name: "whose log says what is in a Secret", fails: true,
			manifest: withPod(`devcluster/pod: crash-loop, devcluster/log: "no login for app with hunter2-hunter2"`, mainContainer),
			beside: "apiVersion: v1\nkind: Secret\nmetadata: {name: credentials, annotations: {helm.sh/layer: tested}}\n" +
				"stringData: {password: hunter2-hunter2}\n",
			silent: []string{"hunter2"},
		},
		{name: "with an image that cannot be pulled", manifest: of(noImage), fails: true},
		{name: "that fits on no node", manifest: withPod("", unschedulablePod), fails: true},
		{name: "of many pods that fit on no node", manifest: workload{kind: "Deployment", pod: unschedulablePod, spec: []string{"replicas: 20"}}.manifest(), fails: true},
		{name: "that exceeds the quota", manifest: of(""), before: withQuota, fails: true},
		{name: "refused by pod security", manifest: of(""), before: withRestrictedNamespace, fails: true},
		{name: "with a missing ConfigMap", manifest: withPod("", `containers: [{name: main, image: i, envFrom: [{configMapRef: {name: settings}}]}]`), fails: true},
		{
			name:     "with a missing volume",
			manifest: withPod("", mainContainer+", volumes: [{name: v, secret: {secretName: credentials}}]"), fails: true,
		},
		{name: "with a missing service account", manifest: withPod("", "serviceAccountName: robot, "+mainContainer), fails: true},
		{name: "with a missing claim", manifest: withPod("", mainContainer+", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]"), fails: true},
		{
			name:     "with a Secret that the release deploys later",
			manifest: withPod("", gatedPod), beside: lateSecret, play: deleteSecretBeforePodStarts, fails: true,
			before: func(tb testing.TB, s *caseRun) { tb.Helper(); s.Apply(tb, presetSecret) },
		},
	})
}

func TestReadinessOfStatefulSets(t *testing.T) {
	t.Parallel()
	of := func(play string, spec ...string) string {
		return workload{kind: "StatefulSet", play: play, spec: spec}.manifest()
	}
	claims := "volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: none, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]"
	runReadiness(t, "statefulset", []readinessCase{
		{name: "ready", manifest: of("", "replicas: 2")},
		{name: "slow", manifest: of(slowly, "replicas: 2")},
		{
			name:   "with a partition is ready when the pods above it are updated",
			before: deployedBefore(of("", "replicas: 2")), manifest: of(slowly, "replicas: 2", "updateStrategy: {rollingUpdate: {partition: 1}}"),
			ready: all(hasField("status.updatedReplicas", "1"), hasField("status.readyReplicas", "2")),
			never: all(hasField("status.observedGeneration", "2"), hasField("status.updatedReplicas", "2")),
		},
		{
			name:   "with OnDelete is ready by its ready pods",
			before: deployedBefore(of("", "replicas: 2", "updateStrategy: {type: OnDelete}")), manifest: of(slowly, "replicas: 2", "updateStrategy: {type: OnDelete}"),
			ready: all(hasField("status.observedGeneration", "2"), hasField("status.readyReplicas", "2")),
			never: hasField("status.updatedReplicas", "1"),
		},
		{name: "with OnDelete whose pods are not ready", manifest: of(never, "replicas: 2", "updateStrategy: {type: OnDelete}"), fails: true},
		{name: "whose first pod is stuck", manifest: of(never, "replicas: 3"), fails: true},
		{name: "in a crash loop", manifest: of(crashes, "replicas: 2"), fails: true},
		{name: "whose volumes are not bound", manifest: of("", claims), fails: true},
	})
}

func TestReadinessOfDaemonSets(t *testing.T) {
	t.Parallel()
	of := func(play string, spec ...string) string {
		return workload{kind: "DaemonSet", play: play, spec: spec}.manifest()
	}
	runReadiness(t, "daemonset", []readinessCase{
		{name: "ready", manifest: of("")},
		{name: "slow", manifest: of(slowly)},
		{
			name:     "that matches no node is ready",
			manifest: workload{kind: "DaemonSet", play: never, pod: "nodeSelector: {disk: tape}, " + mainContainer}.manifest(),
			ready:    hasField("status.observedGeneration", "1"),
		},
		{
			name:   "with OnDelete is ready by its ready pods",
			before: deployedBefore(of("", "updateStrategy: {type: OnDelete}")), manifest: of(slowly, "updateStrategy: {type: OnDelete}"),
			ready: all(hasField("status.observedGeneration", "2"), hasField("status.numberReady", "3")),
			never: hasField("status.updatedNumberScheduled", "1"),
		},
		{name: "that does not fit on the nodes", manifest: workload{kind: "DaemonSet", pod: unschedulablePod}.manifest(), fails: true},
		{name: "in a crash loop", manifest: of(crashes), fails: true},
	})
}

func TestReadinessOfReplicaSets(t *testing.T) {
	t.Parallel()
	for kind, group := range map[string]string{"ReplicaSet": "replicaset", "ReplicationController": "replicationcontroller"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			runReadiness(t, group, []readinessCase{
				{name: "ready", manifest: workload{kind: kind}.manifest()},
				{name: "slow", manifest: workload{kind: kind, play: slowly, spec: []string{"replicas: 2"}}.manifest()},
				{name: "in a crash loop", manifest: workload{kind: kind, play: crashes}.manifest(), fails: true},
				{name: "that exceeds the quota", manifest: workload{kind: kind}.manifest(), before: withQuota, fails: true},
			})
		})
	}
}

func TestReadinessOfPods(t *testing.T) {
	t.Parallel()
	once := []string{mainContainer, "restartPolicy: Never"}
	runReadiness(t, "pod", []readinessCase{
		{name: "ready", manifest: barePod("")},
		{name: "slow", manifest: barePod(slowly)},
		{name: "that has succeeded is ready", manifest: barePod(slowly, append(once, "readinessGates: [{conditionType: example.com/registered}]")...), ready: hasField("status.phase", "Succeeded")},
		{name: "that heals", manifest: barePod(never), play: changed(hasField("status.phase", "Running"), `{"metadata":{"annotations":{"devcluster/pod":null}}}`)},
		{name: "that failed", manifest: barePod(exitsOnce, once...), annotations: []string{"helm.sh/readiness-timeout: 50s"}, fails: true},
		{
			name:     "past its own deadline",
			manifest: barePod(never), fails: true,
			annotations: []string{"helm.sh/readiness-timeout: 50s"},
			play: changed(hasField("status.phase", "Running"),
				`{"status":{"phase":"Failed","reason":"DeadlineExceeded","message":"Pod was active on the node longer than the specified deadline"}}`, "status"),
		},
		{name: "whose probe fails", manifest: barePod(never), fails: true},
		{name: "in a crash loop", manifest: barePod(crashes), fails: true},
		{name: "with an image that cannot be pulled", manifest: barePod(noImage), fails: true},
		{name: "that fits on no node", manifest: barePod("", unschedulablePod), fails: true},
		{name: "held by a scheduling gate", manifest: barePod("", "schedulingGates: [{name: example.com/hold}]", mainContainer), fails: true},
		{name: "whose readiness gate is not set", manifest: barePod("", "readinessGates: [{conditionType: example.com/registered}]", mainContainer), fails: true},
	})
}
