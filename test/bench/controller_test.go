// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/test/bench/launch"
	"github.com/ordered-helm/helm/test/bench/report"
	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/chartserver"
	"github.com/ordered-helm/helm/test/cluster"
)

const (
	// controllerRequests is the number of HelmRequests that are deployed, and controllerProcesses that of the
	// processes of helm that do the same.
	controllerRequests, controllerProcesses = 200, 8
	// controllerChanges is the number of changes of which the time until the first write is measured.
	controllerChanges = 21
	// idleRequests is the number of HelmRequests that are deployed when the memory is measured.
	idleRequests = 1000
)

// controllerTemplate renders a small release.
const controllerTemplate = `apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-settings", annotations: {helm.sh/layer: settings}}
data: {changed: "{{ .Values.changed }}"}
---
apiVersion: v1
kind: Service
metadata: {name: "{{ .Release.Name }}-web", annotations: {helm.sh/layer: service, depends-on.helm.sh/layers: settings}}
spec: {selector: {app: web}, ports: [{port: 80}]}
`

// BenchmarkController compares the controller with as many runs of helm, and measures how fast it notices a change,
// and how much memory it needs for unchanged HelmRequests.
func BenchmarkController(b *testing.B) {
	c := cluster.Shared(b)
	objects := asObjects(b, ours(b, c))
	chart := writeChart(b, controllerTemplate)
	w := newControllerBench(b, c, chart)
	measure(b, c, workload{
		name: report.ControllerName, title: fmt.Sprintf("The controller: %d HelmRequests", controllerRequests),
		about: fmt.Sprintf("A ConfigMap and a Service in order. *controller* creates %d HelmRequests, and waits until all are ready. *ours, crd* runs "+
			"`helm install --wait=ordered` as often, in %d processes.", controllerRequests, controllerProcesses),
		base: []string{report.Objects}, rounds: 3,
		tools: []tool{
			{report.Objects, []step{{name: report.Install, do: inProcess(func(ctx context.Context, namespace string) error {
				return installInProcesses(ctx, objects, chart, namespace)
			})}}, objects.agent},
			{report.Controller, []step{
				{name: "prepare", do: inProcess(w.prepare), uncounted: true},
				{name: report.Install, do: inProcess(func(ctx context.Context, namespace string) error { return w.deploy(ctx, namespace, controllerRequests) })},
				{name: report.FirstWrite, do: w.firstWrite},
				{name: "delete", do: inProcess(w.delete), uncounted: true},
			}, "helm-controller"},
		},
	})
	measure(b, c, workload{
		name: report.IdleControllerName, title: fmt.Sprintf("The controller: %d unchanged HelmRequests", idleRequests),
		about:  "The requests of a minute, and the memory of the process, when nothing changes.",
		rounds: 1, cold: true,
		tools: []tool{{report.Controller, []step{
			{name: "prepare", do: inProcess(w.prepare), uncounted: true},
			{name: "deploy", do: inProcess(func(ctx context.Context, namespace string) error { return w.deploy(ctx, namespace, idleRequests) }), uncounted: true},
			{name: report.Idle, do: w.idle},
			{name: "delete", do: inProcess(w.delete), uncounted: true},
		}, "helm-controller"}},
	})
}

// installInProcesses installs releases with several processes at the same time.
func installInProcesses(ctx context.Context, p program, chart, namespace string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(controllerProcesses)
	for i := range controllerRequests {
		group.Go(func() error {
			_, err := p.run(ctx, "install", fmt.Sprint("r", i), chart, "--wait=ordered", "--namespace", namespace)
			return err
		})
	}
	return group.Wait()
}

// controllerBench is a running controller.
type controllerBench struct {
	b        *testing.B
	cluster  *cluster.Cluster
	requests dynamic.NamespaceableResourceInterface
	process  *os.Process
	chart    []byte
}

// newControllerBench starts a controller, which ends with the benchmark.
func newControllerBench(b *testing.B, c *cluster.Cluster, chart string) *controllerBench {
	b.Helper()
	definition := filepath.Join(binaries.Root(b), "cmd", "helm-controller", "chart", "templates", "helm.sh_helmrequests.yaml")
	apply := exec.CommandContext(b.Context(), c.Kubectl(), "--kubeconfig", c.Kubeconfig(), "apply", "-f", definition)
	if out, err := apply.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	data, err := chartserver.Pack(chart)
	client, clientErr := dynamic.NewForConfig(c.Config())
	if err := errors.Join(err, clientErr); err != nil {
		b.Fatal(err)
	}
	run := exec.CommandContext(b.Context(), binaries.Get(b).Controller, "--kubeconfig", c.Kubeconfig(), "--metrics-bind-address", "0",
		"--health-probe-bind-address", "0", "--concurrency-per-namespace", "32")
	if err := run.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	})
	resource := schema.GroupVersionResource{Group: "helm.sh", Version: "v1alpha1", Resource: "helmrequests"}
	return &controllerBench{b: b, cluster: c, requests: client.Resource(resource), process: run.Process, chart: data}
}

// prepare creates a service account, and the ConfigMap of the chart.
func (w *controllerBench) prepare(ctx context.Context, namespace string) error {
	client := w.cluster.Client()
	_, err := client.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "deployer"}}, metav1.CreateOptions{})
	_, bindErr := client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "deployer"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "deployer", Namespace: namespace}},
	}, metav1.CreateOptions{})
	_, chartErr := client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "chart"}, BinaryData: map[string][]byte{"chart.tgz": w.chart},
	}, metav1.CreateOptions{})
	return errors.Join(err, bindErr, chartErr)
}

// deploy creates HelmRequests, and waits until all are ready.
func (w *controllerBench) deploy(ctx context.Context, namespace string, n int) error {
	group, creation := errgroup.WithContext(ctx)
	group.SetLimit(controllerProcesses)
	for i := range n {
		group.Go(func() error {
			_, err := w.requests.Namespace(namespace).Create(creation, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "helm.sh/v1alpha1", "kind": "HelmRequest", "metadata": map[string]any{"name": fmt.Sprint("r", i)},
				"spec": map[string]any{
					"serviceAccountName": "deployer", "chart": map[string]any{"configMap": map[string]any{"name": "chart", "key": "chart.tgz"}},
				},
			}}, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return w.await(ctx, namespace, func(requests []unstructured.Unstructured) bool {
		return len(requests) == n && !slices.ContainsFunc(requests, func(r unstructured.Unstructured) bool { return !isRequestReady(&r) })
	})
}

// isRequestReady reports whether the current generation of a HelmRequest is ready.
func isRequestReady(r *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(r.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(entry any) bool {
		c, _ := entry.(map[string]any)
		return c["type"] == "Ready" && c["status"] == "True" && c["observedGeneration"] == r.GetGeneration()
	})
}

// await lists the HelmRequests until they are as wanted.
func (w *controllerBench) await(ctx context.Context, namespace string, reached func([]unstructured.Unstructured) bool) error {
	for {
		list, err := w.requests.Namespace(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		if reached(list.Items) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// firstWrite changes HelmRequests one after the other, and returns the median of the times from the change to the
// first write of a revision, according to the audit log.
func (w *controllerBench) firstWrite(ctx context.Context, namespace string) (launch.Usage, error) {
	begin, mark := time.Now(), w.cluster.AuditMark(w.b)
	changed, first := map[string]time.Time{}, map[string]time.Time{}
	for i := range controllerChanges {
		name := fmt.Sprint("r", i)
		changed[name] = time.Now()
		if err := w.change(ctx, namespace, name, changed[name].String()); err != nil {
			return launch.Usage{}, err
		}
	}
	w.cluster.AuditAfter(w.b, mark, func(e cluster.Event) { //nolint:contextcheck // it has the context of the benchmark
		name, _, _ := strings.Cut(e.Name, ".")
		if e.Namespace == namespace && e.Resource == "releases" && e.Verb == "update" && first[name].IsZero() {
			first[name] = e.Received
		}
	})
	var times []time.Duration
	for name, at := range changed {
		if first[name].IsZero() {
			return launch.Usage{}, fmt.Errorf("release %s was not written", name)
		}
		times = append(times, first[name].Sub(at))
	}
	slices.Sort(times)
	return launch.Usage{Begin: begin, End: begin.Add(times[len(times)/2])}, nil
}

// change changes the values of a HelmRequest, and waits until they are deployed.
func (w *controllerBench) change(ctx context.Context, namespace, name, value string) error {
	patch := `{"spec":{"values":{"changed":"` + value + `"}}}`
	if _, err := w.requests.Namespace(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		return err
	}
	return w.await(ctx, namespace, func(requests []unstructured.Unstructured) bool {
		return !slices.ContainsFunc(requests, func(r unstructured.Unstructured) bool { return r.GetName() == name && !isRequestReady(&r) })
	})
}

// idle waits a minute, and returns the memory of the controller.
func (w *controllerBench) idle(ctx context.Context, _ string) (launch.Usage, error) {
	begin := time.Now()
	select {
	case <-ctx.Done():
		return launch.Usage{}, ctx.Err()
	case <-time.After(time.Minute):
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.process.Pid))
	if err != nil {
		return launch.Usage{}, err
	}
	used := launch.Usage{Begin: begin, End: time.Now()}
	for line := range strings.Lines(string(status)) {
		if text, found := strings.CutPrefix(line, "VmRSS:"); found {
			kib, err := strconv.ParseFloat(strings.Fields(text)[0], 64)
			if err != nil {
				return launch.Usage{}, err
			}
			used.PeakMiB = kib / 1024
		}
	}
	return used, nil
}

// delete deletes all HelmRequests, and waits until their releases are uninstalled.
func (w *controllerBench) delete(ctx context.Context, namespace string) error {
	if err := w.requests.Namespace(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	return w.await(ctx, namespace, func(requests []unstructured.Unstructured) bool { return len(requests) == 0 })
}
