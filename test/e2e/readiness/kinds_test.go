// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

func TestReadinessOfPersistentVolumeClaims(t *testing.T) {
	t.Parallel()
	of := func(spec string) string {
		return "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: web}, " +
			"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, " + spec + "}}"
	}
	unbound := hasField("status.phase", "Pending")
	runReadiness(t, "claim", []readinessCase{
		{name: "of the default class is ready when bound", manifest: of("")},
		{name: "of a class that binds at once is ready when bound", manifest: of("storageClassName: standard")},
		{
			name: "bound late", manifest: of(`storageClassName: ""`), through: unbound,
			play: func(ctx context.Context, s *caseRun) error {
				if _, err := harness.AwaitState(ctx, s.testedAPI(), "web", unbound); err != nil {
					return err
				}
				return s.Create(ctx, volume)
			},
			before: func(tb testing.TB, s *caseRun) {
				tb.Helper()
				s.DeleteAfter(tb, harness.ParseManifest(tb, volumeName(s)))
			},
		},
		{name: "of a class that waits for its first consumer does not block", manifest: of("storageClassName: wait"), ready: unbound},
		{
			name:     "of a class that may not be read is judged by its event",
			manifest: of("storageClassName: wait"), ready: unbound, args: limitedUser,
			before: func(tb testing.TB, s *caseRun) { tb.Helper(); s.allowNamespaced(tb, "get", "list", "watch") },
		},
		{name: "of a class that does not exist", manifest: of("storageClassName: tape"), fails: true},
		{name: "that no volume fits", manifest: of(`storageClassName: ""`), fails: true},
		{name: "of a volume that does not exist", manifest: of("storageClassName: standard, volumeName: lost"), fails: true},
	})
}

// volume is the manifest of a PersistentVolume for the claim under test.
const volume = "{apiVersion: v1, kind: PersistentVolume, metadata: {name: NAMESPACE}, spec: {accessModes: [ReadWriteOnce], " +
	"capacity: {storage: 1Gi}, persistentVolumeReclaimPolicy: Retain, hostPath: {path: /none}, " +
	"claimRef: {namespace: NAMESPACE, name: web}}}"

func volumeName(s *caseRun) string {
	return "{apiVersion: v1, kind: PersistentVolume, metadata: {name: " + s.Namespace + "}}"
}

func TestReadinessOfServices(t *testing.T) {
	t.Parallel()
	of := func(metadata, spec string) string {
		return "{apiVersion: v1, kind: Service, metadata: {name: web, " + metadata + "}, spec: {" + spec + "}}"
	}
	ports := "ports: [{port: 80}]"
	runReadiness(t, "service", []readinessCase{
		{name: "of type ClusterIP is ready at once", manifest: of("", ports), ready: always, unwatched: true},
		{name: "without endpoints is ready at once", manifest: of("", "selector: {app: nobody}, "+ports), ready: always, unwatched: true},
		{name: "without a cluster IP is ready at once", manifest: of("", "clusterIP: None, "+ports), ready: always, unwatched: true},
		{name: "of type ExternalName is ready at once", manifest: of("", "type: ExternalName, externalName: example.com"), ready: always, unwatched: true},
		{
			name:     "of type LoadBalancer is ready without an address",
			manifest: of("annotations: {devcluster/load-balancer: pending}", "type: LoadBalancer, "+ports),
			ready:    always, unwatched: true,
			never: func(o *unstructured.Unstructured) bool {
				addresses, _, _ := unstructured.NestedSlice(o.Object, "status", "loadBalancer", "ingress")
				return len(addresses) > 0
			},
		},
	})
}

// TestReadyOnCreation checks kinds whose resources are ready as soon as they exist, and that
// Helm does not watch them.
func TestReadyOnCreation(t *testing.T) {
	t.Parallel()
	manifest := func(apiVersion, kind, content string) string {
		return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: web}, %s}", apiVersion, kind, content)
	}
	var cases []readinessCase
	for kind, text := range map[string]string{
		"ConfigMap":      manifest("v1", "ConfigMap", "data: {a: b}"),
		"Secret":         manifest("v1", "Secret", "stringData: {a: b}"),
		"ServiceAccount": manifest("v1", "ServiceAccount", "automountServiceAccountToken: false"),
		"Role":           manifest("rbac.authorization.k8s.io/v1", "Role", "rules: []"),
		"RoleBinding":    manifest("rbac.authorization.k8s.io/v1", "RoleBinding", "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}"),
		"NetworkPolicy":  manifest("networking.k8s.io/v1", "NetworkPolicy", "spec: {podSelector: {}}"),
		"Ingress": manifest("networking.k8s.io/v1", "Ingress",
			"spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}"),
		"HorizontalPodAutoscaler": manifest("autoscaling/v2", "HorizontalPodAutoscaler",
			"spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nobody}}"),
	} {
		// The audit log does not contain Secrets, so it cannot show when one was created.
		if kind != "Secret" {
			cases = append(cases, readinessCase{name: kind, manifest: text, ready: always, unwatched: true})
		}
	}
	runReadiness(t, "kind", cases)
}

func TestReadinessOfPodDisruptionBudgets(t *testing.T) {
	t.Parallel()
	const manifest = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}"
	runReadiness(t, "budget", []readinessCase{
		{name: "is ready once it was observed", manifest: manifest, ready: hasField("status.observedGeneration", "1")},
	})
}

// definition returns the manifest of the CRD of a kind, in a group that only this test uses.
func definition(kind string) string { return charts.Definition("NAMESPACE.example", kind).Manifest() }

func TestReadinessOfCRDs(t *testing.T) {
	t.Parallel()
	inTheWay := func(tb testing.TB, s *caseRun) {
		tb.Helper()
		s.Apply(tb, strings.NewReplacer("widgets", "others", "singular: widget", "singular: other").Replace(definition("Widget")))
		established := harness.HasCondition("Established", "True", "")
		if _, err := harness.AwaitState(tb.Context(), s.testedAPI(), "others."+s.Namespace+".example", established); err != nil {
			tb.Fatal(err)
		}
	}
	conflict := harness.HasCondition("NamesAccepted", "False", "")
	runReadiness(t, "definition", []readinessCase{
		{name: "is ready when it is established", manifest: definition("Widget")},
		{
			name: "whose names are set free", manifest: definition("Widget"), before: inTheWay, through: conflict,
			play: func(ctx context.Context, s *caseRun) error {
				if _, err := harness.AwaitState(ctx, s.testedAPI(), s.tested.GetName(), conflict); err != nil {
					return err
				}
				return s.testedAPI().Delete(ctx, "others."+s.Namespace+".example", metav1.DeleteOptions{})
			},
		},
		{name: "whose names are taken", manifest: definition("Widget"), before: inTheWay, fails: true},
	})
}

// TestReadinessOfAPIServices does not run in parallel with other tests: while an APIService is
// registered whose server does not respond, discovery fails in the whole cluster.
func TestReadinessOfAPIServices(t *testing.T) {
	const manifest = "{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.NAMESPACE.example}, " +
		"spec: {group: NAMESPACE.example, version: v1, groupPriorityMinimum: 1000, versionPriority: 15"
	const remote = manifest + ", insecureSkipTLSVerify: true, service: {namespace: NAMESPACE, name: metrics}}}"
	unavailable := harness.HasCondition("Available", "False", "")
	for _, c := range []readinessCase{
		{name: "is ready when it is available", manifest: manifest + "}}"},
		{
			name: "that becomes available", manifest: remote, through: unavailable,
			play: changed(unavailable, `{"spec":{"service":null,"insecureSkipTLSVerify":false}}`),
		},
		{name: "whose service does not exist", manifest: remote, fails: true},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, "apiservice") })
	}
}
