// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// explainCase describes the state of a server, and the expected causes for one object.
type explainCase struct {
	objects string
	logs    map[string]string
	faults  map[string]int
	subject string
	want    []string
	brief   []string // the same as want if nil
}

func later(kind schema.GroupKind, namespace, name string) string {
	if kind.String() == "ConfigMap" && namespace == "shop" && name == "later" {
		return `layer "settings" of chart shop`
	}
	return ""
}

func runCases(t *testing.T, cases map[string]explainCase) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := cases[name]
				api := newFakeAPI(t, c.objects)
				api.logs, api.faults = c.logs, c.faults
				d := api.diagnoser(DiagnoserConfig{DeployedLater: later})
				subject := api.subject(c.subject)
				expectLines(t, d.Diagnose(t.Context(), []Subject{subject})[0], c.want...)
				before := len(api.requests)
				brief := c.brief
				if brief == nil {
					brief = c.want
				}
				expectLines(t, d.DiagnoseBriefly(t.Context(), subject), brief...)
				if n := len(api.requests) - before; n > maxBriefRequests {
					t.Errorf("DiagnoseBriefly sent %d requests: %v", n, api.requests[before:])
				}
				if api.count("get secrets")+api.count("list secrets") > 0 {
					t.Errorf("a Secret was read: %v", api.requests)
				}
			})
		})
	}
}

func TestPodThatIsNotStarted(t *testing.T) {
	runCases(t, map[string]explainCase{
		"unschedulable": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, pending: true, metadata: {name: web}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."}]}}
				{event: FailedScheduling, about: web, message: "0/3 nodes are available: 3 Insufficient cpu."}`,
			want: []string{"Pod shop/web: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu."},
		},
		"scheduling gates": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, pending: true, metadata: {name: web}, spec: {schedulingGates: [{name: a.example}, {name: b.example}]}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated, message: gated}]}}`,
			want:    []string{"Pod shop/web: SchedulingGated: waiting for scheduling gates: a.example, b.example"},
		},
		"no scheduler of that name": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, pending: true, metadata: {name: web}, spec: {schedulerName: batch}, status: {phase: Pending}}`,
			want:    []string{`Pod shop/web: NotScheduled: waiting for the scheduler "batch" named in its spec`},
		},
		"missing ConfigMap of a volume, deployed later": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {volumes: [{name: config, projected: {sources: [{configMap: {name: later}}, {configMap: {name: may, optional: true}}]}}], containers: [{name: app}]}, status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ContainerCreating}}}]}}
				{event: FailedMount, about: web, message: 'MountVolume.SetUp failed for volume "config" : configmap "later" not found', count: 7}`,
			want: []string{`Pod shop/web: MissingObject: ConfigMap "later" not found (referenced by volume "config"); this release deploys it later: layer "settings" of chart shop`},
		},
		"missing Secret of the environment": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, envFrom: [{secretRef: {name: keys}}], env: [{name: A, valueFrom: {configMapKeyRef: {name: there, key: a}}}]}]}, status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: CreateContainerConfigError, message: 'secret "keys" not found'}}}]}}
				{kind: ConfigMap, metadata: {name: there}}
				{event: Failed, about: web, message: 'Error: secret "keys" not found'}`,
			want: []string{`Pod shop/web: CreateContainerConfigError: Secret "keys" not found (referenced by env of container "app")`},
		},
		"missing Secret that may not be looked up": {
			subject: "Pod shop/web",
			faults:  map[string]int{"exists secrets": 403},
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, envFrom: [{secretRef: {name: keys}}, {secretRef: {name: other}}]}]}, status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: CreateContainerConfigError, message: 'secret "keys" not found'}}}]}}`,
			want:    []string{`Pod shop/web: CreateContainerConfigError: Secret "keys" not found (referenced by env of container "app")`},
		},
		"missing key": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, env: [{name: A, valueFrom: {configMapKeyRef: {name: there, key: b}}}]}]}, status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: CreateContainerConfigError, message: "couldn't find key b in ConfigMap shop/there"}}}]}}
				{kind: ConfigMap, metadata: {name: there}}`,
			want: []string{"Pod shop/web container app: CreateContainerConfigError: couldn't find key b in ConfigMap shop/there"},
		},
		"volume cannot be attached": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app}]}, status: {phase: Pending}}
				{event: FailedAttachVolume, about: web, message: "volume vol-1 is in use by another node", count: 3}`,
			want:  []string{"Pod shop/web: FailedAttachVolume: volume vol-1 is in use by another node (3 times)"},
			brief: []string{"Pod shop/web: FailedAttachVolume: volume vol-1 is in use by another node"},
		},
		"being created": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app}]}, status: {phase: Pending, startTime: "1999-12-31T23:59:15Z", containerStatuses: [{name: app, state: {waiting: {reason: ContainerCreating}}}]}}
				{event: FailedMount, about: web, message: "of another day", lastTimestamp: "1999-12-31T23:49:50Z"}
				{event: FailedMount, about: other, message: "of another pod"}`,
			want:  []string{"Pod shop/web: ContainerCreating: creating its containers on node node-1 for 45s"},
			brief: []string{"Pod shop/web: ContainerCreating: creating its containers on node node-1"},
		},
		"image cannot be pulled": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {imagePullSecrets: [{name: registry}], containers: [{name: app, image: "example.com/app:1"}]}, status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image "example.com/app:1"'}}}]}}
				{event: Failed, about: web, message: 'Failed to pull image "example.com/app:1": not found', involvedObject: {fieldPath: "spec.containers{app}"}}
				{event: BackOff, about: web, message: 'Back-off pulling image "example.com/app:1"'}`,
			want: []string{
				`Pod shop/web: MissingObject: Secret "registry" not found (referenced by imagePullSecrets)`,
				`Pod shop/web container app: ImagePullBackOff: cannot pull image "example.com/app:1": not found`,
			},
			brief: []string{`Pod shop/web container app: ImagePullBackOff: cannot pull image "example.com/app:1"`},
		},
		"image pull with its error in the status": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, image: "app:1"}]}, status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image "app:1": ErrImagePull: access denied'}}}]}}`,
			want:    []string{`Pod shop/web container app: ImagePullBackOff: cannot pull image "app:1": access denied`},
		},
		"image name": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app}]}, status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: InvalidImageName, message: "couldn't parse image name"}}}]}}`,
			want:    []string{"Pod shop/web container app: InvalidImageName: couldn't parse image name"},
		},
		"stuck in deletion": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web, deletionTimestamp: "1999-12-31T23:59:30Z", deletionGracePeriodSeconds: 10, finalizers: [example.com/hold]}, status: {phase: Running}}`,
			want:    []string{"Pod shop/web: Terminating: terminating, 30s past its grace period, waiting for finalizers: example.com/hold"},
			brief:   []string{"Pod shop/web: Terminating: being deleted, waiting for finalizers: example.com/hold"},
		},
		"gone": {
			subject: "Pod shop/web",
			want:    []string{"Pod shop/web: NotFound: not found"},
		},
		"ready": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`,
		},
	})
}

func TestPodThatRuns(t *testing.T) {
	runCases(t, map[string]explainCase{
		"crash loop": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app}, {name: good}]}, status: {phase: Running, containerStatuses: [{name: good, ready: true, state: {running: {}}}, {name: app, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff, message: back-off}}, lastState: {terminated: {exitCode: 1, reason: Error}}}]}}
				{event: BackOff, about: web, message: Back-off restarting failed container}
				{event: Unhealthy, about: web, message: "Readiness probe failed: connection refused", involvedObject: {fieldPath: "spec.containers{app}"}}
				{event: NodeUnhappy, about: web, message: something else}`,
			logs: map[string]string{"shop/web/app/previous": "one\n\ntwo\n", "shop/web/app": "three"},
			want: []string{"Pod shop/web container app: CrashLoopBackOff: exited with code 1, restarted 4 times", "| one", "| two",
				"Pod shop/web: NodeUnhappy: something else"},
			brief: []string{"Pod shop/web container app: CrashLoopBackOff: exited with code 1, restarted 4 times"},
		},
		"previous log gone": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app}]}, status: {phase: Running, containerStatuses: [{name: app, restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 127, reason: Error, message: "last words\nsecond\n"}}}]}}`,
			logs:    map[string]string{"shop/web/app/previous": "unable to retrieve container logs for containerd://1", "shop/web/app": "last words\nsecond"},
			want:    []string{"Pod shop/web container app: CrashLoopBackOff: exited with code 127 (command not found), restarted once", "| last words", "| second"},
			brief:   []string{"Pod shop/web container app: CrashLoopBackOff: exited with code 127 (command not found), restarted once: last words second"},
		},
		"out of memory": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, resources: {limits: {memory: 64Mi}}}]}, status: {phase: Running, containerStatuses: [{name: app, restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]}}`,
			want:    []string{"Pod shop/web container app: OOMKilled: exited with code 137, ran out of memory (limit 64Mi), restarted 2 times"},
		},
		"stopped by its liveness probe": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app}]}, status: {phase: Running, containerStatuses: [{name: app, restartCount: 2, state: {running: {startedAt: "1999-12-31T23:59:55Z"}}, lastState: {terminated: {exitCode: 143, reason: Error}}}]}}
				{event: Unhealthy, about: web, message: "Liveness probe failed: HTTP 500", involvedObject: {fieldPath: "spec.containers{app}"}}
				{event: Unhealthy, about: web, message: "Readiness probe failed: HTTP 503", involvedObject: {fieldPath: "spec.containers{app}"}}`,
			want:  []string{"Pod shop/web container app: Restarted: exited with code 143 (terminated), restarted 2 times; running again, but not ready; stopped because a probe failed: Liveness probe failed: HTTP 500"},
			brief: []string{"Pod shop/web container app: Restarted: exited with code 143 (terminated), restarted 2 times; running again, but not ready"},
		},
		"command that cannot be started": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app}]}, status: {phase: Running, containerStatuses: [{name: app, restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 128, reason: StartError, message: 'exec: "serve": not found in $PATH'}}}]}}`,
			logs:    map[string]string{"shop/web/app": "of no use"},
			want:    []string{`Pod shop/web container app: CrashLoopBackOff: cannot be started, restarted 2 times: exec: "serve": not found in $PATH`},
		},
		"ends although it should not": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app}]}, status: {phase: Running, containerStatuses: [{name: app, restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 0, reason: Completed}}}]}}`,
			want:    []string{"Pod shop/web container app: CrashLoopBackOff: exited with code 0, restarted 2 times; the command exited, but this container is expected to keep running"},
		},
		"failing readiness probe": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app}]}, status: {phase: Running, containerStatuses: [{name: app, restartCount: 1, state: {running: {startedAt: "1999-12-31T23:59:20Z"}}, lastState: {terminated: {exitCode: 1}}}]}}
				{event: Unhealthy, about: web, message: "Readiness probe failed: HTTP 503", count: 3, involvedObject: {fieldPath: "spec.containers{app}"}}
				{event: Unhealthy, about: web, message: "Readiness probe failed: refused", lastTimestamp: "1999-12-31T23:59:25Z", involvedObject: {fieldPath: "spec.containers{app}"}}`,
			logs:  map[string]string{"shop/web/app": "waiting"},
			want:  []string{"Pod shop/web container app: Unhealthy: Readiness probe failed: HTTP 503 (4 times), restarted once", "| waiting"},
			brief: []string{"Pod shop/web container app: Unhealthy: Readiness probe failed: HTTP 503, restarted once"},
		},
		"not ready and nobody says why": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, readinessProbe: {httpGet: {port: 80, path: /ok}}}]}, status: {phase: Running, containerStatuses: [{name: app, state: {running: {startedAt: "1999-12-31T23:59:20Z"}}}]}}
				{event: FailedMount, about: web, message: "long mended"}`,
			logs:  map[string]string{"shop/web/app": "waiting"},
			want:  []string{"Pod shop/web container app: NotReady: running for 40s, but not ready; readiness probe: GET port 80, path /ok", "| waiting"},
			brief: []string{"Pod shop/web container app: NotReady: running, but not ready; readiness probe: GET port 80, path /ok"},
		},
		"startup probe": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, startupProbe: {tcpSocket: {port: db}}}]}, status: {phase: Running, containerStatuses: [{name: app, started: false, state: {running: {startedAt: "1999-12-31T23:59:20Z"}}}]}}`,
			want:    []string{"Pod shop/web container app: NotReady: running for 40s, but has not passed its startup probe: TCP port db"},
			brief:   []string{"Pod shop/web container app: NotReady: running, but has not passed its startup probe: TCP port db"},
		},
		"init container runs": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {initContainers: [{name: first}, {name: second}], containers: [{name: app}]}, status: {phase: Pending, initContainerStatuses: [{name: first, state: {terminated: {exitCode: 0}}}, {name: second, state: {running: {startedAt: "1999-12-31T23:57:00Z"}}}], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}}`,
			logs:    map[string]string{"shop/web/second": "waiting for db"},
			want:    []string{"Pod shop/web container second: Initializing: init container, running for 3m", "| waiting for db"},
			brief:   []string{"Pod shop/web container second: Initializing: init container, running"},
		},
		"sidecar that does not start holds up the rest": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {initContainers: [{name: proxy, restartPolicy: Always}], containers: [{name: app}]}, status: {phase: Pending, initContainerStatuses: [{name: proxy, started: false, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 2}}}], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}}`,
			want:    []string{"Pod shop/web container proxy: CrashLoopBackOff: exited with code 2, restarted 3 times"},
		},
		"sidecar that has started does not": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {initContainers: [{name: proxy, restartPolicy: Always}], containers: [{name: app}]}, status: {phase: Running, initContainerStatuses: [{name: proxy, started: true, ready: true, state: {running: {}}}], containerStatuses: [{name: app, state: {waiting: {reason: RunContainerError, message: no such device}}}]}}`,
			want:    []string{"Pod shop/web container app: RunContainerError: no such device"},
		},
		"sidecar that has started but is not ready": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {initContainers: [{name: proxy, restartPolicy: Always}], containers: [{name: app}]}, status: {phase: Running, initContainerStatuses: [{name: proxy, started: true, state: {running: {}}}], containerStatuses: [{name: app, state: {running: {}}}]}}`,
			want:    []string{"Pod shop/web container proxy: NotReady: running, but not ready", "Pod shop/web container app: NotReady: running, but not ready"},
		},
		"readiness gate": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {readinessGates: [{conditionType: example.com/lb}, {conditionType: example.com/ok}], containers: [{name: app}]}, status: {phase: Running, conditions: [{type: Ready, status: "False", reason: ReadinessGatesNotReady}, {type: example.com/ok, status: "True"}, {type: example.com/lb, status: "False", message: not registered}], containerStatuses: [{name: app, ready: true, state: {running: {}}}]}}`,
			want:    []string{`Pod shop/web: ReadinessGate: its containers are ready, but its readiness gate "example.com/lb" is not: not registered`},
		},
		"node lost": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {containers: [{name: app}]}, status: {phase: Running, conditions: [{type: Ready, status: "False"}], containerStatuses: [{name: app, ready: true, state: {running: {}}}]}}
				{event: NodeNotReady, about: web, message: Node is not ready}`,
			want: []string{
				"Pod shop/web: NodeNotReady: Node is not ready",
				"Pod shop/web: NotReady: not ready on node node-1, although its containers are ready",
			},
		},
		"evicted": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, status: {phase: Failed, reason: Evicted, message: "The node was low on resource: memory."}}`,
			want:    []string{"Pod shop/web: Evicted: The node was low on resource: memory."},
		},
		"failed": {
			subject: "Pod shop/web",
			objects: `{kind: Pod, metadata: {name: web}, spec: {restartPolicy: Never, initContainers: [{name: init}], containers: [{name: app}]}, status: {phase: Failed, initContainerStatuses: [{name: init, state: {terminated: {exitCode: 3, reason: Error}}}]}}`,
			logs:    map[string]string{"shop/web/init": "no"},
			want:    []string{"Pod shop/web container init: Error: exited with code 3", "| no"},
			brief:   []string{"Pod shop/web container init: Error: exited with code 3"},
		},
	})
}
