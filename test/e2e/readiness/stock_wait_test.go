// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestUnorderedWaitMatchesStockHelm checks that --wait, without an order, succeeds and fails
// for the same objects as with stock Helm.
func TestUnorderedWaitMatchesStockHelm(t *testing.T) {
	t.Parallel()
	workload := func(kind, more, annotations string) string {
		return "apiVersion: apps/v1\nkind: " + kind + "\nmetadata: {name: x}\nspec:\n  selector: {matchLabels: {app: x}}\n" + more +
			"  template:\n    metadata: {labels: {app: x}, annotations: {" + annotations + "}}\n    spec: {containers: [{name: c, image: i}]}\n"
	}
	job := func(annotations string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\nspec:\n  backoffLimit: 0\n  template:\n    metadata: {annotations: {" + annotations +
			"}}\n    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}\n"
	}
	pod := func(policy, annotations string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: x, annotations: {" + annotations + "}}\nspec: {restartPolicy: " + policy + ", containers: [{name: c, image: i}]}\n"
	}
	claim := func(class string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: x}\nspec: {storageClassName: " + class +
			", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}\n"
	}
	for _, c := range []struct {
		name, manifest string
		args           []string
		ready          bool
		says           string
	}{
		{name: "deployment", manifest: workload("Deployment", "", "devcluster/after: 1s"), ready: true},
		{name: "deployment that may lack a pod", ready: true, // maxUnavailable allows one of four to be missing, and one is not ready
			manifest: workload("Deployment", "  replicas: 4\n  strategy: {rollingUpdate: {maxUnavailable: 4}}\n", "devcluster/pod: never")},
		{name: "deployment never ready", manifest: workload("Deployment", "", "devcluster/pod: crash-loop"), says: "CrashLoopBackOff"},
		{name: "paused deployment", manifest: workload("Deployment", "  paused: true\n", ""), ready: true},
		{name: "stateful set", manifest: workload("StatefulSet", "  replicas: 2\n", ""), ready: true},
		{name: "stateful set on delete", manifest: workload("StatefulSet", "  updateStrategy: {type: OnDelete}\n", "devcluster/pod: never"), ready: true},
		{name: "stateful set never ready", manifest: workload("StatefulSet", "", "devcluster/pod: image-pull-back-off"), says: "ImagePull"},
		{name: "daemon set", manifest: workload("DaemonSet", "", ""), ready: true},
		{name: "daemon set that may lack pods", manifest: workload("DaemonSet", "  updateStrategy: {rollingUpdate: {maxUnavailable: 100%}}\n", "devcluster/pod: never"), ready: true},
		{name: "replica set", manifest: workload("ReplicaSet", "  replicas: 2\n", ""), ready: true},
		{name: "job", manifest: job("devcluster/after: 1m"), ready: true},
		{name: "job that is waited for", manifest: job("devcluster/after: 1s"), args: []string{"--wait-for-jobs"}, ready: true},
		{name: "job that is too slow", manifest: job("devcluster/after: 1m"), args: []string{"--wait-for-jobs"}, says: "active: 1"},
		{name: "job that fails", manifest: job("devcluster/pod: fail"), args: []string{"--wait-for-jobs"}, says: "Job/x failed: "},
		{name: "pod", manifest: pod("Always", "devcluster/after: 1s"), ready: true},
		{name: "pod that ran to its end", manifest: pod("Never", ""), says: "the pod completed"},
		{name: "claim", manifest: claim("standard"), ready: true},
		{name: "claim that waits for its first consumer", manifest: claim("wait"), says: "PersistentVolumeClaim/x was not ready within 5s"},
		{name: "service", manifest: "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {ports: [{port: 80}]}\n", ready: true},
		{name: "external name", manifest: "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {type: ExternalName, externalName: a.example}\n", ready: true},
		{name: "load balancer", manifest: "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n", ready: true},
		{name: "load balancer without an address", says: "the load balancer has no address",
			manifest: "apiVersion: v1\nkind: Service\nmetadata: {name: x, annotations: {devcluster/load-balancer: pending}}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n"},
		{name: "kinds that Helm does not wait for", ready: true,
			manifest: "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: x}\nspec: {minAvailable: 1, selector: {matchLabels: {app: x}}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			chart := charts.Chart{APIVersion: "v2", Template: c.manifest}.Write(t)
			timeout := "5s"
			if c.ready {
				timeout = "1m" // not reached, however slow the machine is
			}
			args := append([]string{"install", "rel", chart, "--wait", "--timeout", timeout}, c.args...)
			ours, stock := harness.New(t), harness.New(t)
			r := ours.Run(args...)
			if r.ExitCode == 0 != c.ready || !strings.Contains(r.Stderr, c.says) {
				t.Errorf("exit code %d, want ready: %v, %q\n%s", r.ExitCode, c.ready, c.says, r.Stderr)
			}
			if r := stock.RunStock(t, args...); (r.ExitCode == 0) != c.ready {
				t.Errorf("stock Helm: exit code %d, want ready: %v\n%s", r.ExitCode, c.ready, r.Stderr)
			}
		})
	}
}
