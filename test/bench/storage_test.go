// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/bench/report"
	"github.com/ordered-helm/helm/test/cluster"
)

// asObjects returns the program with releases that are stored as objects.
func asObjects(b *testing.B, p program) program {
	b.Helper()
	p.env = append(slices.Clone(p.env), "HELM_DRIVER=crd")
	if _, err := p.run(b.Context(), "state", "init"); err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkStorage compares releases in Secrets with releases that are stored as objects: small releases, in order
// and without an order.
func BenchmarkStorage(b *testing.B) {
	c := cluster.Shared(b)
	secrets := ours(b, c)
	objects := asObjects(b, secrets)
	ordered := lifecycle{writeChart(b, smallTemplate), 1, []string{"--wait=ordered"}}
	for _, w := range []struct {
		name, title, about string
		release            lifecycle
	}{
		{
			report.StorageName, "Releases as objects: a small release, in order",
			"A ConfigMap, a Deployment that waits for it, and a Service, with `--wait=ordered`. ", ordered,
		},
		{
			report.UnorderedStorageName, "Releases as objects: a small release without an order",
			"The same, without waiting: the time is mostly that of requests for the release. ", lifecycle{ordered.chart, 1, nil},
		},
	} {
		measure(b, c, workload{
			name: w.name, title: w.title, about: w.about + "*ours, crd* stores releases as objects (`HELM_DRIVER=crd`). A revision then takes " +
				"four requests more, one after the other: a ReleaseVersion, its Secrets and the Release are written where there is one " +
				"Secret otherwise, the result is written to two objects, and what a Secret contains is read separately.",
			base: []string{report.Ours}, rounds: 2 * usualRounds,
			tools: []tool{helmLifecycle(report.Ours, secrets, w.release), helmLifecycle(report.Objects, objects, w.release)},
		})
	}
}

// smallTemplate renders a small release. The value changed changes its ConfigMap and its Deployment.
const smallTemplate = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {helm.sh/layer: settings}}
data: {changed: "{{ .Values.changed }}"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {helm.sh/layer: web, depends-on.helm.sh/layers: settings}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {changed: "{{ .Values.changed }}"}}
    spec: {containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, annotations: {helm.sh/layer: service, depends-on.helm.sh/layers: web}}
spec: {selector: {app: web}, ports: [{port: 80}]}
`

// BenchmarkLargeRelease installs a release of 20 MiB that is stored as objects, and writes as many bytes by hand.
func BenchmarkLargeRelease(b *testing.B) {
	const mebibytes = 20
	c := cluster.Shared(b)
	files := map[string]string{"Chart.yaml": plainChart, "templates/all.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"}
	for i := range mebibytes {
		files[fmt.Sprintf("file-%d", i)] = string(noise(byte(i), 1<<20))
	}
	objects := asObjects(b, ours(b, c))
	measure(b, c, workload{
		name: report.LargeReleaseName, title: fmt.Sprintf("Releases as objects: a release of %d MiB", mebibytes),
		about: "The chart contains files that cannot be compressed. *ours, crd* stores the release as objects (`HELM_DRIVER=crd`). *hand* stores " +
			"as many bytes in Secrets of the same size, with as many requests at the same time.",
		base: []string{report.Hand},
		tools: []tool{
			{report.Objects, []step{objects.does(report.Install, "install", "rel", writeFiles(b, files))}, objects.agent},
			{name: report.Hand, steps: []step{{name: report.Install, do: inProcess(writeSecrets(b, c, mebibytes<<20))}}},
		},
	})
}

// noise returns bytes that cannot be compressed.
func noise(seed byte, size int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data) // never fails
	return data
}

// writeSecrets returns a function that writes a number of bytes to Secrets, in parallel.
func writeSecrets(b *testing.B, c *cluster.Cluster, size int) func(context.Context, string) error {
	b.Helper()
	const partSize, parallel = 700 << 10, 4
	client := unthrottled(b, c)
	data := noise(0, size)
	return func(ctx context.Context, namespace string) error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(parallel)
		n := 0
		for part := range slices.Chunk(data, partSize) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("part-", n)}, Data: map[string][]byte{"part": part}}
			n++
			group.Go(func() error {
				_, err := client.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{})
				return err
			})
		}
		return group.Wait()
	}
}
