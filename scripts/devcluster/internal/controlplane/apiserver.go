// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/scripts/devcluster/internal/binaries"
	"github.com/ordered-helm/helm/scripts/devcluster/internal/process"
)

const serviceRange = "10.96.0.0/16"

// apiServerHosts are the names that pods would use for the API server.
var apiServerHosts = []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "10.96.0.1"}

// auditPolicy is the policy of the audit log: it contains the request and response objects of
// every write except the contents of Secrets, and the metadata of every read. Reads and leases
// of the cluster's own components are omitted, because they would be most of the log.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
omitStages: [RequestReceived]
rules:
- level: None
  nonResourceURLs: ["/healthz*", "/livez*", "/readyz*"]
- level: None
  verbs: [get, list, watch]
  userGroups: ["system:serviceaccounts:kube-system"]
- level: None
  verbs: [get, list, watch]
  users: ["system:kube-controller-manager", "system:kube-scheduler", "system:apiserver", "devcluster-supervisor", "devcluster-kwok"]
- level: None
  users: ["system:kube-controller-manager", "system:kube-scheduler", "system:apiserver", "devcluster-kwok"]
  resources:
  - group: coordination.k8s.io
    resources: [leases]
- level: Metadata
  resources:
  - group: ""
    resources: [secrets, serviceaccounts/token, events]
  - group: authentication.k8s.io
  - group: events.k8s.io
- level: RequestResponse
  verbs: [create, update, patch, delete]
- level: Metadata
`

// startAPIServer starts the API server and returns its URL.
func (c *ControlPlane) startAPIServer(ctx context.Context, etcd string) (string, error) {
	policy := filepath.Join(c.dir.Config(), "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return "", fmt.Errorf("write audit policy: %w", err)
	}
	ports, err := c.startService(ctx, service{
		ports: 1,
		spec: func(ports []int) (process.Spec, error) {
			return c.apiServerSpec(etcd, policy, ports[0]), nil
		},
		ready: func(ctx context.Context, ports []int) error {
			client, err := kubernetes.NewForConfig(c.credentials.restConfig(localURL(ports[0]), c.credentials.supervisor))
			if err != nil {
				return fmt.Errorf("make client: %w", err)
			}
			return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		},
	})
	if err != nil {
		return "", err
	}
	return localURL(ports[0]), nil
}

func (c *ControlPlane) apiServerSpec(etcd, policy string, port int) process.Spec {
	creds := c.credentials
	return c.spec(binaries.APIServer,
		"--bind-address="+localhost,
		"--secure-port="+strconv.Itoa(port),
		// There are no pods that could use another address.
		"--advertise-address="+localhost,
		"--endpoint-reconciler-type=none",
		"--tls-cert-file="+creds.apiServer.CertFile,
		"--tls-private-key-file="+creds.apiServer.KeyFile,
		"--client-ca-file="+creds.cluster.CertFile(),
		"--etcd-servers="+etcd,
		"--etcd-cafile="+creds.etcd.CertFile(),
		"--etcd-certfile="+creds.etcdClient.CertFile,
		"--etcd-keyfile="+creds.etcdClient.KeyFile,
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		"--service-cluster-ip-range="+serviceRange,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+creds.serviceAccountKey,
		"--service-account-signing-key-file="+creds.serviceAccountKey,
		"--requestheader-client-ca-file="+creds.frontProxy.CertFile(),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+creds.frontProxyClient.CertFile,
		"--proxy-client-key-file="+creds.frontProxyClient.KeyFile,
		"--kubelet-certificate-authority="+creds.cluster.CertFile(),
		"--kubelet-client-certificate="+creds.toKubelets.CertFile,
		"--kubelet-client-key="+creds.toKubelets.KeyFile,
		// Nothing listens on the nodes' internal addresses.
		"--kubelet-preferred-address-types=ExternalIP",
		"--audit-policy-file="+policy,
		"--audit-log-path="+c.dir.AuditLog(),
		// The limit is in megabytes and so high that there is only one file: readers of the
		// log do not have to handle rotation.
		"--audit-log-maxsize=1000000",
		"--profiling=false",
	)
}
