// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/test/bench/launch"
	"github.com/ordered-helm/helm/test/cluster"
)

const (
	// watched is the number of resources for which helm waits at the same time.
	watched = 1000
	// writers is the number of resources that the controller writes at the same time.
	writers = 16
)

// BenchmarkWatched1000 installs a thousand custom resources in one namespace and waits for
// them. The benchmark acts as their controller, which starts when all of them exist. It
// reports the resource usage of the install, and the requests during the wait: between the
// creation of the last resource and the creation of the object that depends on them.
func BenchmarkWatched1000(b *testing.B) {
	c := cluster.Shared(b)
	config := c.Config()
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	namespace := c.Namespace(b)
	resource := defineWork(b, client, namespace)
	helm, chart := ours(b, c), writeChart(b, workChart(resource.Group))

	var took launch.Usage
	mark := c.AuditMark(b)
	work, ctx := errgroup.WithContext(b.Context()) // if one fails, the other ends
	work.Go(func() error { return control(ctx, client.Resource(resource).Namespace(namespace)) })
	work.Go(func() (err error) {
		took, err = helm.installs(ctx, chart, namespace)
		return err
	})
	if err := work.Wait(); err != nil {
		b.Fatal(err)
	}
	waiting := requestsDuringWait(requestsOf(b, c, mark, namespace), resource.Resource)
	b.ReportMetric(took.PeakMiB, "peak-MiB")
	b.ReportMetric(took.CPU.Seconds(), "cpu-s")
	b.ReportMetric(float64(len(waiting)), "requests")
	b.ReportMetric(0, "ns/op")
	b.Log("\n" + table(waiting, watched))
}

// defineWork creates the CRD of the kind Work for the duration of the benchmark.
func defineWork(b *testing.B, client dynamic.Interface, namespace string) schema.GroupVersionResource {
	b.Helper()
	group := namespace + ".example"
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	name := "works." + group
	_, err := definitions.Create(b.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"kind": "Work", "plural": "works", "singular": "work"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema":       map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := definitions.Delete(context.WithoutCancel(b.Context()), name, metav1.DeleteOptions{}); err != nil {
			b.Error(err)
		}
	})
	resource := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "works"}
	err = wait.PollUntilContextTimeout(b.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
	if err != nil {
		b.Fatalf("the definition is not served: %v", err)
	}
	return resource
}

// workChart returns a template with a layer of custom resources of the kind Work, and one
// object that depends on the layer.
func workChart(group string) string {
	var text strings.Builder
	for i := range watched {
		fmt.Fprintf(&text, "---\napiVersion: %s/v1\nkind: Work\nmetadata:\n  name: %s\n  annotations:\n    helm.sh/layer: work\n"+
			"    helm.sh/readiness-success: '{.phase} == \"Done\"'\n", group, workName(i))
	}
	text.WriteString("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: last\n  annotations:\n    helm.sh/layer: last\n" +
		"    helm.sh/depends-on/layers: work\n")
	return text.String()
}

func workName(i int) string { return fmt.Sprintf("w%04d", i) }

// control acts as the controller of Work: it waits until all resources exist, and then marks
// each of them as done.
func control(ctx context.Context, works dynamic.ResourceInterface) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		one, err := works.List(ctx, metav1.ListOptions{Limit: 1}) // the others are only counted
		if err != nil {
			return false, err
		}
		rest := one.GetRemainingItemCount()
		return rest != nil && *rest == watched-1, nil
	})
	if err != nil {
		return fmt.Errorf("the controller waits until all are there: %w", err)
	}
	writing, ctx := errgroup.WithContext(ctx)
	writing.SetLimit(writers)
	for i := range watched {
		writing.Go(func() error {
			_, err := works.Patch(ctx, workName(i), types.MergePatchType, []byte(`{"status":{"phase":"Done"}}`), metav1.PatchOptions{}, "status")
			return err
		})
	}
	if err := writing.Wait(); err != nil {
		return fmt.Errorf("the controller writes: %w", err)
	}
	return nil
}

// requestsDuringWait returns the requests after the last creation of a resource and before the
// creation of its dependents.
func requestsDuringWait(requests []cluster.Event, resource string) []cluster.Event {
	var from, to time.Time
	for _, r := range requests {
		switch {
		case r.Verb == "create" && r.Resource == resource && r.Completed.After(from):
			from = r.Completed
		case r.Verb == "create" && r.Resource == "configmaps":
			to = r.Received
		}
	}
	return slices.DeleteFunc(slices.Clone(requests), func(r cluster.Event) bool {
		return !r.Received.After(from) || !r.Received.Before(to)
	})
}
