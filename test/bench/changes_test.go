// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/preview"
	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/test/bench/launch"
	"github.com/ordered-helm/helm/test/bench/report"
	"github.com/ordered-helm/helm/test/cluster"
)

const (
	// driftObjects is the number of objects of a release of which drift is searched, and of which a plan is saved.
	driftObjects = 5000
	// unchangedObjects is the number of objects of a release that is upgraded without a change.
	unchangedObjects = 1000
)

// BenchmarkDrift compares "helm drift" with "kubectl get", and the Go package with a client that lists and decodes the
// same objects.
func BenchmarkDrift(b *testing.B) {
	c := cluster.Shared(b)
	helm, namespace := ours(b, c), c.Namespace(b)
	kubectl := newProgram(b, c, c.Kubectl(), "kubectl/")
	install(b, helm, namespace, objectsChart(b, driftObjects, 0))
	config := c.Config()
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	list := func(ctx context.Context, _ string) error {
		found, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err == nil && len(found.Items) < driftObjects {
			err = fmt.Errorf("there are only %d objects", len(found.Items))
		}
		return err
	}
	getter := genericclioptions.NewConfigFlags(true)
	kubeconfig, cache := c.Kubeconfig(), b.TempDir()
	getter.KubeConfig, getter.Namespace, getter.CacheDir = &kubeconfig, &namespace, &cache
	find := func(ctx context.Context, _ string) error {
		cfg := new(action.Configuration)
		if err := action.InitConfiguration(cfg, getter, namespace, "", func(string, ...any) {}); err != nil {
			return err
		}
		found, err := action.NewFindDrift(cfg).RunWithContext(ctx, "rel")
		if err == nil && (found.Drifted || found.Unchanged < driftObjects) {
			err = fmt.Errorf("%d objects are unchanged", found.Unchanged)
		}
		return err
	}
	measure(b, c, workload{
		name: report.DriftName, title: fmt.Sprintf("Drift of %s objects", report.Thousands(driftObjects)),
		about: "`helm drift` of a release in which nothing has drifted, and `kubectl get -o name` of the same objects, with one request. *hand* lists and decodes " +
			"them. *hand* and the Go package run in a process that was started before.",
		base: []string{report.Hand},
		tools: []tool{
			{name: report.Hand, steps: []step{{name: report.Drift, do: inProcess(list)}}},
			{name: report.Package, steps: []step{{name: report.Drift, do: inProcess(find)}}},
			{report.Kubectl, []step{kubectl.doesIn(namespace, report.Drift, "get", "configmaps", "--chunk-size=0", "-o", "name")}, kubectl.agent},
			{report.Ours, []step{helm.doesIn(namespace, report.Drift, "drift", "rel")}, helm.agent},
		},
	})
}

// BenchmarkUnchanged compares "helm upgrade --only-if-changed" of an unchanged release with "helm plan".
func BenchmarkUnchanged(b *testing.B) {
	c := cluster.Shared(b)
	helm, namespace := ours(b, c), c.Namespace(b)
	chart := objectsChart(b, unchangedObjects, 0)
	install(b, helm, namespace, chart)
	measure(b, c, workload{
		name: report.UnchangedName, title: fmt.Sprintf("Upgrade of %s unchanged objects", report.Thousands(unchangedObjects)),
		about: "`helm upgrade --only-if-changed`, which makes no revision here, and `helm plan` with the same arguments.",
		base:  []string{report.Plan},
		tools: []tool{
			{report.Plan, []step{helm.doesIn(namespace, report.Unchanged, "plan", "rel", chart)}, helm.agent},
			{report.OnlyIfChanged, []step{helm.doesIn(namespace, report.Unchanged, "upgrade", "rel", chart, "--only-if-changed")}, helm.agent},
		},
	})
}

// BenchmarkSavedPlan measures how long it takes to read a saved plan, and to compare its objects with those of another
// preview, without the time in which the server answers the dry runs of that preview.
func BenchmarkSavedPlan(b *testing.B) {
	c := cluster.Shared(b)
	helm, namespace := ours(b, c), c.Namespace(b)
	path := filepath.Join(b.TempDir(), "saved.plan")
	// The exit code is 2, because there are changes.
	if _, err := helm.run(b.Context(), "plan", "rel", objectsChart(b, driftObjects, 5), "--install", "--wait=ordered", "--namespace", namespace, "--save", path); err != nil {
		b.Log(err)
	}
	_, digest, err := action.ReadPlan(path, "")
	if err != nil {
		b.Fatal(err)
	}
	read := func(context.Context, string) error {
		plan, _, err := action.ReadPlan(path, digest)
		if err != nil {
			return err
		}
		if _, _, err := plan.Chart.Load(); err != nil {
			return err
		}
		if differences := preview.Compare(plan.Objects, plan.Objects); len(differences) > 0 || len(plan.Objects) < driftObjects {
			return fmt.Errorf("%d objects with %d differences", len(plan.Objects), len(differences))
		}
		return nil
	}
	measure(b, nil, workload{
		name: report.SavedPlanName, title: fmt.Sprintf("Saved plan of %s objects", report.Thousands(driftObjects)),
		about: "A saved plan is read, its digest is checked, and its objects are compared with those of another preview. The time for that preview, " +
			"which is that of `helm plan`, is not part of it.",
		tools: []tool{{name: report.Ours, steps: []step{{name: report.Verify, do: inProcess(read)}}}},
	})
}

func install(b *testing.B, helm program, namespace, chart string) {
	b.Helper()
	if _, err := helm.run(b.Context(), "install", "rel", chart, "--namespace", namespace); err != nil {
		b.Fatal(err)
	}
}

// doesIn returns a step that runs the program in a namespace of its own, which all rounds share.
func (p program) doesIn(namespace, name string, args ...string) step {
	return step{name: name, do: func(ctx context.Context, _ string) (launch.Usage, error) {
		return p.run(ctx, append(append([]string{}, args...), "--namespace", namespace)...)
	}}
}
