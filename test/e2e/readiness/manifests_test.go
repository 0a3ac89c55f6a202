// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// mainContainer is the entry of a pod's spec for one container.
const mainContainer = `containers: [{name: main, image: "example/app:1.0"}]`

// workload describes an object named web, of a kind that creates pods.
type workload struct {
	kind string
	// play contains the annotations of the pods that define their behavior, in YAML flow
	// style.
	play string
	// pod is the spec of the pods. The default is one container.
	pod string
	// spec contains further lines of the workload's spec.
	spec []string
}

func (w workload) manifest() string {
	if w.pod == "" {
		w.pod = mainContainer
	}
	if w.kind == "Job" && !strings.Contains(strings.Join(w.spec, "\n"), "backoffLimit") {
		w.spec = append(w.spec, "backoffLimit: 6") // the default of Kubernetes
	}
	return charts.Object{Kind: w.kind, Name: "web", PodAnnotations: []string{w.play}, PodSpec: w.pod, Spec: w.spec}.Manifest()
}

// barePod returns the manifest of a pod named web.
func barePod(play string, spec ...string) string {
	if len(spec) == 0 {
		spec = []string{mainContainer}
	}
	return charts.Object{
		Kind: "Pod", Name: "web", Labels: []string{"app: web"}, PodAnnotations: []string{play}, PodSpec: strings.Join(spec, ", "),
	}.Manifest()
}

// Annotations that define the behavior of pods in a dev cluster.
const (
	never     = "devcluster/pod: never"
	slowly    = "devcluster/after: 1s"
	crashes   = `devcluster/pod: crash-loop, devcluster/log: "cannot open /data/app.db: permission denied"`
	noImage   = "devcluster/pod: image-pull-back-off"
	exitsOnce = `devcluster/pod: fail, devcluster/log: "migration 0007 failed: column exists"`
)

// unschedulablePod contains entries of the spec of a pod that is too large for every node of
// the cluster.
const unschedulablePod = `containers: [{name: main, image: "example/app:1.0", resources: {requests: {cpu: "1000"}}}]`

// ownedByRelease contains metadata that marks an object as owned by the release, in YAML flow
// style.
const ownedByRelease = `labels: {app.kubernetes.io/managed-by: Helm}, ` +
	`annotations: {meta.helm.sh/release-name: rel, meta.helm.sh/release-namespace: NAMESPACE}`

// deployedBefore returns a function for readinessCase.before that creates the resource with
// another manifest, as an object of the release, and waits until it is ready.
func deployedBefore(manifest string) func(testing.TB, *caseRun) {
	return func(tb testing.TB, s *caseRun) {
		tb.Helper()
		object := harness.ParseManifest(tb, manifest)
		object.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
		object.SetAnnotations(map[string]string{
			"meta.helm.sh/release-name": "rel", "meta.helm.sh/release-namespace": s.Namespace,
		})
		if _, err := s.testedAPI().Create(tb.Context(), object, metav1.CreateOptions{}); err != nil {
			tb.Fatal(err)
		}
		settled := func(o *unstructured.Unstructured) bool {
			return o.GetGeneration() == harness.IntAt(o, "status.observedGeneration") &&
				(harness.IntAt(o, "status.readyReplicas") >= 2 || harness.IntAt(o, "status.numberReady") >= 3)
		}
		if _, err := harness.AwaitState(tb.Context(), s.testedAPI(), "web", settled); err != nil {
			tb.Fatal(err)
		}
	}
}

// withQuota creates a ResourceQuota that allows no pods in the namespace.
func withQuota(tb testing.TB, s *caseRun) {
	tb.Helper()
	s.Apply(tb, "{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {pods: 0}}}")
	if _, err := harness.AwaitState(tb.Context(), s.Resource("v1", "ResourceQuota"), "none", hasField("status.hard.pods", "0")); err != nil {
		tb.Fatal(err)
	}
}

// withRestrictedNamespace makes the namespace reject pods that violate the restricted Pod
// Security Standard.
func withRestrictedNamespace(tb testing.TB, s *caseRun) {
	tb.Helper()
	namespaces := s.Client.Resource(harness.GuessResource("v1", "Namespace"))
	patch := `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`
	harness.NoError(tb, harness.MergePatch(tb.Context(), namespaces, s.Namespace, patch))
}

// deleteSecretBeforePodStarts is a play that deletes the Secret "credentials" and then lets
// the pod of the resource, which needs the Secret, start by removing its scheduling gates.
func deleteSecretBeforePodStarts(ctx context.Context, s *caseRun) error {
	pods := s.Resource("v1", "Pod")
	pod, err := awaitAny(ctx, pods, always)
	if err != nil {
		return err
	}
	if err := s.Resource("v1", "Secret").Delete(ctx, "credentials", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return harness.MergePatch(ctx, pods, pod.GetName(), `{"spec":{"schedulingGates":null}}`)
}

const (
	lateSecret   = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: credentials}\nstringData: {password: hunter2}\n"
	gatedPod     = `schedulingGates: [{name: example.com/hold}], containers: [{name: main, image: "example/app:1.0", envFrom: [{secretRef: {name: credentials}}]}]`
	presetSecret = "{apiVersion: v1, kind: Secret, metadata: {name: credentials, " + ownedByRelease + "}}"
)

// createWhenPodWaits returns a play that creates an object when a container of a pod is in the
// state waiting for the given reason.
func createWhenPodWaits(reason, manifest string) func(context.Context, *caseRun) error {
	return func(ctx context.Context, s *caseRun) error {
		if _, err := awaitAny(ctx, s.Resource("v1", "Pod"), hasWaitingContainer(reason)); err != nil {
			return err
		}
		return s.Create(ctx, manifest)
	}
}
