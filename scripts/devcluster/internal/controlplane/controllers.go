// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/binaries"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/process"
)

// unthrottled contains flags that disable the rate limits of the controllers' clients, which
// would slow down every deployment.
var unthrottled = []string{"--kube-api-qps=1000", "--kube-api-burst=2000"}

func (c *ControlPlane) controllerManagerSpec(server string) (process.Spec, error) {
	creds := c.credentials
	kubeconfig, err := creds.kubeconfig(c.dir, server, binaries.ControllerManager, creds.controllers)
	if err != nil {
		return process.Spec{}, err
	}
	args := []string{
		"--kubeconfig=" + kubeconfig,
		"--secure-port=0",
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + creds.serviceAccountKey,
		"--root-ca-file=" + creds.cluster.CertFile(),
		"--cluster-signing-cert-file=" + creds.cluster.CertFile(),
		"--cluster-signing-key-file=" + creds.cluster.KeyFile(),
		"--concurrent-job-syncs=50",
		"--concurrent-deployment-syncs=50",
		"--concurrent-replicaset-syncs=50",
		"--concurrent-statefulset-syncs=20",
		"--concurrent-daemonset-syncs=20",
		"--concurrent-namespace-syncs=50",
		"--concurrent-serviceaccount-token-syncs=20",
		"--pvclaimbinder-sync-period=1s",
		// If the machine was suspended, pods must not be evicted when it resumes.
		"--node-monitor-grace-period=10m",
		"--profiling=false",
	}
	return c.spec(binaries.ControllerManager, append(args, unthrottled...)...), nil
}

func (c *ControlPlane) schedulerSpec(server string) (process.Spec, error) {
	kubeconfig, err := c.credentials.kubeconfig(c.dir, server, binaries.Scheduler, c.credentials.scheduler)
	if err != nil {
		return process.Spec{}, err
	}
	args := []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-skip-lookup=true",
		"--secure-port=0",
		"--leader-elect=false",
		"--profiling=false",
	}
	return c.spec(binaries.Scheduler, append(args, unthrottled...)...), nil
}

// nodeStages is the configuration with which kwok keeps nodes ready. It contains no stages for
// pods: package kubelet simulates pods, because it can look up the objects that a pod
// references.
const nodeStages = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: node-ready
spec:
  resourceRef:
    apiGroup: v1
    kind: Node
  selector:
    matchExpressions:
    - key: '.status.conditions.[] | select( .type == "Ready" ) | .status'
      operator: NotIn
      values: ["True"]
  next:
    statusTemplate: |
      {{ $now := Now }}
      phase: Running
      conditions:
      {{ range NodeConditions }}
      - type: {{ .type | Quote }}
        status: {{ .status | Quote }}
        reason: {{ .reason | Quote }}
        message: {{ .message | Quote }}
        lastHeartbeatTime: {{ $now | Quote }}
        lastTransitionTime: {{ $now | Quote }}
      {{ end }}
`

func (c *ControlPlane) kwokSpec(server string) (process.Spec, error) {
	kubeconfig, err := c.credentials.kubeconfig(c.dir, server, binaries.Kwok, c.credentials.kwok)
	if err != nil {
		return process.Spec{}, err
	}
	config := filepath.Join(c.dir.Config(), "kwok.yaml")
	if err := os.WriteFile(config, []byte(nodeStages), 0o600); err != nil {
		return process.Spec{}, fmt.Errorf("write kwok's configuration: %w", err)
	}
	spec := c.spec(binaries.Kwok,
		"--kubeconfig="+kubeconfig,
		"--config="+config,
		"--manage-all-nodes=true",
		"--node-lease-duration-seconds=40",
		"--server-address=",
	)
	// Otherwise kwok reads settings from the user's home directory.
	spec.Env = append(spec.Env, "KWOK_WORKDIR="+c.dir.Config())
	return spec, nil
}
