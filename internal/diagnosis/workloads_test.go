// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import "testing"

const (
	web     = `{kind: Deployment, metadata: {name: web, generation: 2}, spec: {selector: {matchLabels: {app: web}}}, status: {observedGeneration: 2, conditions: [{type: Available, status: "False", reason: MinimumReplicasUnavailable, message: none}]}}` + "\n"
	newSet  = `{kind: ReplicaSet, owner: web, metadata: {name: web-2, labels: {app: web}, annotations: {deployment.kubernetes.io/revision: "10"}}, spec: {replicas: 3, selector: {matchLabels: {app: web, hash: "2"}}}, status: {replicas: 3}}` + "\n"
	oldSet  = `{kind: ReplicaSet, owner: web, metadata: {name: web-1, labels: {app: web}, annotations: {deployment.kubernetes.io/revision: "9"}}, spec: {replicas: 1, selector: {matchLabels: {app: web, hash: "1"}}}, status: {replicas: 1, conditions: [{type: ReplicaFailure, status: "True", message: of old}]}}` + "\n"
	crashed = `status: {phase: Running, containerStatuses: [{name: app, restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1}}}]}}` + "\n"
	refused = `{kind: ReplicaSet, owner: web, metadata: {name: web-2, labels: {app: web}}, spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {spec: {serviceAccountName: robot}}}, status: {conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: `
)

func TestWorkloads(t *testing.T) {
	runCases(t, map[string]explainCase{
		"Deployment: pods of the newest revision, merged, the oldest pod first": {
			subject: "Deployment shop/web",
			objects: web + newSet + oldSet +
				`{kind: Pod, owner: web-2, metadata: {name: web-2-a, labels: {app: web, hash: "2"}}, spec: {containers: [{name: app}]}, ` + crashed +
				`{kind: Pod, owner: web-2, metadata: {name: web-2-z, creationTimestamp: "1999-12-31T23:58:00Z", labels: {app: web, hash: "2"}}, spec: {containers: [{name: app}]}, ` + crashed +
				`{kind: Pod, owner: web-2, metadata: {name: web-2-b, labels: {app: web, hash: "2"}}, spec: {containers: [{name: app}]}, ` + crashed +
				`{kind: Pod, owner: stranger, metadata: {name: web-2-s, labels: {app: web, hash: "2"}}, status: {phase: Failed, reason: Evicted}}
				{kind: Pod, owner: web-1, metadata: {name: web-1-a, labels: {app: web, hash: "1"}}, status: {phase: Failed, reason: Evicted}}`,
			logs:  map[string]string{"shop/web-2-z/app/previous": "oops"},
			want:  []string{"Pod shop/web-2-z container app: CrashLoopBackOff: exited with code 1, restarted 2 times (same on 2 more pods)", "| oops"},
			brief: []string{"Pod shop/web-2-z container app: CrashLoopBackOff: exited with code 1, restarted 2 times (same on 2 more pods)"},
		},
		"Deployment: quota": {
			subject: "Deployment shop/web",
			objects: web + refused + `'pods "web-2-x" is forbidden: exceeded quota: small'}]}}` + `
				{event: FailedCreate, about: web-2, message: 'Error creating: pods "web-2-y" is forbidden: exceeded quota: small'}`,
			want: []string{`ReplicaSet shop/web-2: FailedCreate: pods "web-2-x" is forbidden: exceeded quota: small`},
		},
		"Deployment: no such service account": {
			subject: "Deployment shop/web",
			objects: web + refused + `'pods "web-2-x" is forbidden: error looking up service account shop/robot: serviceaccount "robot" not found'}]}}`,
			want:    []string{`ReplicaSet shop/web-2: MissingObject: ServiceAccount "robot" not found (referenced by serviceAccountName)`},
		},
		"Deployment: denied by a webhook that names the account that exists": {
			subject: "Deployment shop/web",
			objects: web + refused + `'admission webhook "x" denied the request: service account robot may not run'}]}}
				{kind: ServiceAccount, metadata: {name: robot}}`,
			want:  []string{`ReplicaSet shop/web-2: FailedCreate: admission webhook "x" denied the request: service account robot may not run`},
			brief: []string{`ReplicaSet shop/web-2: FailedCreate: admission webhook "x" denied the request: service account robot may not run`},
		},
		"Deployment: progress deadline": {
			subject: "Deployment shop/web",
			objects: `{kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}}, status: {conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: timed out}]}}`,
			want:    []string{"Deployment shop/web: ProgressDeadlineExceeded: timed out"},
		},
		"Deployment: progress deadline, and a pod that does not say why": {
			subject: "Deployment shop/web",
			objects: `{kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}}, status: {conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: timed out}]}}` + "\n" + newSet +
				`{kind: Pod, owner: web-2, metadata: {name: web-2-a, labels: {app: web, hash: "2"}}, spec: {containers: [{name: app}]}, status: {phase: Running, containerStatuses: [{name: app, state: {running: {startedAt: "1999-12-31T23:00:00Z"}}}]}}`,
			logs:  map[string]string{"shop/web-2-a/app": "waiting for db"},
			want:  []string{"Pod shop/web-2-a container app: NotReady: running for 60m, but not ready", "| waiting for db", "Deployment shop/web: ProgressDeadlineExceeded: timed out"},
			brief: []string{"Pod shop/web-2-a container app: NotReady: running, but not ready", "Deployment shop/web: ProgressDeadlineExceeded: timed out"},
		},
		"Deployment: waits for an old pod within its grace period": {
			subject: "Deployment shop/web",
			objects: web + newSet +
				`{kind: Pod, owner: web-2, metadata: {name: web-2-a, deletionTimestamp: "2000-01-01T00:05:00Z", deletionGracePeriodSeconds: 300, labels: {app: web, hash: "2"}}}
				{event: Unhealthy, about: web-2-a, message: "Readiness probe failed: refused"}`,
			want:  []string{"Pod shop/web-2-a: Terminating: being deleted, its grace period ends in 5m"},
			brief: []string{"Pod shop/web-2-a: Terminating: being deleted"},
		},
		"Deployment: cannot create its ReplicaSet": {
			subject: "Deployment shop/web",
			objects: `{kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}}, status: {conditions: [{type: Progressing, status: "False", reason: ReplicaSetCreateError, message: exceeded quota}]}}`,
			want:    []string{"Deployment shop/web: ReplicaSetCreateError: exceeded quota"},
		},
		"Deployment: not observed": {
			subject: "Deployment shop/web",
			objects: `{kind: Deployment, metadata: {name: web, generation: 3}, spec: {selector: {matchLabels: {app: web}}}, status: {observedGeneration: 2}}` + "\n" + oldSet,
			want:    nil, // its status says so
		},
		"Deployment: waits for an old pod to end": {
			subject: "Deployment shop/web",
			objects: web + oldSet + `{kind: ReplicaSet, owner: web, metadata: {name: web-2, labels: {app: web}, annotations: {deployment.kubernetes.io/revision: "10"}}, spec: {replicas: 0, selector: {matchLabels: {app: web, hash: "2"}}}}
				{kind: Pod, owner: web-1, metadata: {name: web-1-a, deletionTimestamp: "1999-12-31T23:50:00Z", finalizers: [a/b], labels: {app: web, hash: "1"}}}`,
			want:  []string{"Pod shop/web-1-a: Terminating: terminating for 10m, waiting for finalizers: a/b"},
			brief: []string{"Pod shop/web-1-a: Terminating: being deleted, waiting for finalizers: a/b"},
		},
		"Deployment: minReadySeconds": {
			subject: "Deployment shop/web",
			objects: `{kind: Deployment, metadata: {name: web}, spec: {minReadySeconds: 30, selector: {matchLabels: {app: web}}}}`,
			want:    []string{"Deployment shop/web: MinReadySeconds: its pods are available only after they have been ready for 30 seconds"},
		},
		"ReplicaSet: an evicted pod is less than the new one's problem": {
			subject: "ReplicaSet shop/r",
			objects: `{kind: ReplicaSet, metadata: {name: r}, spec: {replicas: 1, selector: {matchLabels: {app: r}}}}
				{kind: Pod, owner: r, metadata: {name: r-a, labels: {app: r}}, status: {phase: Failed, reason: Evicted, message: disk}}
				{kind: Pod, owner: r, metadata: {name: r-b, labels: {app: r}}, spec: {containers: [{name: app}]}, ` + crashed,
			want: []string{"Pod shop/r-b container app: CrashLoopBackOff: exited with code 1, restarted 2 times", "Pod shop/r-a: Evicted: disk"},
		},
		"ReplicationController: refused": {
			subject: "ReplicationController shop/r",
			objects: `{kind: ReplicationController, metadata: {name: r}, spec: {selector: {app: r}}, status: {conditions: [{type: ReplicaFailure, status: "True", message: quota}]}}`,
			want:    []string{"ReplicationController shop/r: FailedCreate: quota"},
		},
		"StatefulSet: cannot create pods": {
			subject: "StatefulSet shop/db",
			objects: `{kind: StatefulSet, metadata: {name: db}, spec: {selector: {matchLabels: {app: db}}}}
				{event: FailedCreate, about: db, message: exceeded quota, count: 5}`,
			want:  []string{"StatefulSet shop/db: FailedCreate: exceeded quota (5 times)"},
			brief: []string{"StatefulSet shop/db: FailedCreate: exceeded quota"},
		},
		"StatefulSet: keeps a broken pod of an earlier revision": {
			subject: "StatefulSet shop/db",
			objects: `{kind: StatefulSet, metadata: {name: db}, spec: {selector: {matchLabels: {app: db}}}, status: {updateRevision: db-2}}
				{kind: Pod, owner: db, metadata: {name: db-0, labels: {app: db, controller-revision-hash: db-1}}, spec: {containers: [{name: app}]}, ` + crashed,
			want: []string{"Pod shop/db-0 container app: CrashLoopBackOff: exited with code 1, restarted 2 times; the pod belongs to an earlier revision, and is replaced only when it is ready or deleted"},
		},
		"StatefulSet: keeps pods of an earlier revision on purpose": {
			subject: "StatefulSet shop/db",
			objects: `{kind: StatefulSet, metadata: {name: db}, spec: {updateStrategy: {rollingUpdate: {partition: 1}}, selector: {matchLabels: {app: db}}}, status: {updateRevision: db-2}}
				{kind: Pod, owner: db, metadata: {name: db-0, labels: {app: db, controller-revision-hash: db-1}}, spec: {containers: [{name: app}]}, ` + crashed,
			want: []string{"Pod shop/db-0 container app: CrashLoopBackOff: exited with code 1, restarted 2 times"},
		},
		"DaemonSet: nodes that do not fit": {
			subject: "DaemonSet shop/agent",
			objects: `{kind: DaemonSet, metadata: {name: agent}, spec: {selector: {matchLabels: {app: agent}}}, status: {desiredNumberScheduled: 2}}
				{kind: Pod, pending: true, owner: agent, metadata: {name: agent-a, labels: {app: agent}}, spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-7]}]}]}}}}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: Insufficient memory}]}}
				{kind: Pod, pending: true, owner: agent, metadata: {name: agent-b, labels: {app: agent}}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: Insufficient memory}]}}`,
			want: []string{"Pod shop/agent-a: Unschedulable: for node node-7: Insufficient memory (same on 1 more pod)"},
		},
		"Job: failed": {
			subject: "Job shop/migrate",
			objects: `{kind: Job, metadata: {name: migrate}, spec: {selector: {matchLabels: {job: migrate}}}, status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: too often}]}}
				{event: BackoffLimitExceeded, about: migrate, message: too often}
				{kind: Pod, owner: migrate, metadata: {name: migrate-a, labels: {job: migrate}}, spec: {restartPolicy: Never, containers: [{name: sql}, {name: fine}]}, status: {phase: Failed, containerStatuses: [{name: fine, state: {terminated: {exitCode: 0}}}, {name: sql, state: {terminated: {exitCode: 3, reason: Error}}}]}}`,
			logs:  map[string]string{"shop/migrate-a/sql": "relation exists"},
			want:  []string{"Pod shop/migrate-a container sql: Error: exited with code 3", "| relation exists"},
			brief: []string{"Pod shop/migrate-a container sql: Error: exited with code 3"},
		},
		"Job: failed and its pods are gone": {
			subject: "Job shop/migrate",
			objects: `{kind: Job, metadata: {name: migrate}, spec: {selector: {matchLabels: {job: migrate}}}, status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: too often}]}}`,
			want:    []string{"Job shop/migrate: BackoffLimitExceeded: too often"},
		},
		"Job: deadline": {
			subject: "Job shop/migrate",
			objects: `{kind: Job, metadata: {name: migrate}, spec: {selector: {matchLabels: {job: migrate}}}, status: {conditions: [{type: Failed, status: "True", reason: DeadlineExceeded, message: too long}]}}`,
			want:    []string{"Job shop/migrate: DeadlineExceeded: too long"},
		},
		"Job: suspended": {
			subject: "Job shop/migrate",
			objects: `{kind: Job, metadata: {name: migrate}, spec: {suspend: true}}`,
			want:    []string{"Job shop/migrate: Suspended: suspended (spec.suspend): it runs no pods until it is resumed"},
		},
		"Job: still running": {
			subject: "Job shop/migrate",
			objects: `{kind: Job, metadata: {name: migrate}, spec: {selector: {matchLabels: {job: migrate}}}}
				{kind: Pod, owner: migrate, metadata: {name: migrate-a, labels: {job: migrate}}, spec: {containers: [{name: sql}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: sql, ready: true, state: {running: {startedAt: "1999-12-31T23:55:00Z"}}}]}}`,
			logs:  map[string]string{"shop/migrate-a/sql": "step 3 of 900"},
			want:  []string{"Pod shop/migrate-a container sql: Running: running for 5m", "| step 3 of 900"},
			brief: []string{},
		},
	})
}
