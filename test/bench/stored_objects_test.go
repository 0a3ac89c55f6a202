// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"helm.sh/helm/v3/pkg/time"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/internal/crdstorage"
	"github.com/ordered-helm/helm/internal/releasecrds"
	"github.com/ordered-helm/helm/test/bench/launch"
	"github.com/ordered-helm/helm/test/bench/report"
	"github.com/ordered-helm/helm/test/cluster"
)

// sizeAbout describes the releases of these benchmarks.
const sizeAbout = "Each is stored in a Secret of about 300 KiB, or, for *ours, crd*, as objects with the same contents (`HELM_DRIVER=crd`). "

// BenchmarkListObjects runs `helm list` in namespaces with many large releases.
func BenchmarkListObjects(b *testing.B) {
	const n = 1000
	contents := largeContents()
	measureStored(b, storedWorkload{
		name: report.ListObjectsName, title: fmt.Sprintf("list of %s releases as objects", report.Thousands(n)),
		about: "`helm list` in a namespace with releases. " + sizeAbout, step: report.List, args: []string{"list"}, n: n,
		release: func(i int) *release.Release {
			return stored(contents, fmt.Sprintf("release-%04d", i), 1, release.StatusDeployed)
		},
	})
}

// BenchmarkHistory runs `helm history` of a release with many large revisions.
func BenchmarkHistory(b *testing.B) {
	const n = 200
	contents := largeContents()
	measureStored(b, storedWorkload{
		name: report.HistoryName, title: fmt.Sprintf("history of %d revisions", n),
		about: "`helm history` of a release with many revisions. " + sizeAbout, step: report.History, args: []string{"history", "rel"}, n: n,
		release: func(i int) *release.Release {
			status := release.StatusSuperseded
			if i == n-1 {
				status = release.StatusDeployed
			}
			return stored(contents, "rel", i+1, status)
		},
	})
}

// storedWorkload is a command that reads stored releases.
type storedWorkload struct {
	name, title, about, step string
	args                     []string
	n                        int
	release                  func(i int) *release.Release
}

// measureStored stores releases in Secrets and, in another namespace, as objects, and measures a command that reads
// them.
func measureStored(b *testing.B, w storedWorkload) {
	b.Helper()
	c := cluster.Shared(b)
	secrets, objects := c.Namespace(b), c.Namespace(b)
	inSecrets, asObjects := driver.NewSecrets(unthrottled(b, c).CoreV1().Secrets(secrets)), objectDriver(b, c, objects)
	storeAll(b, w, secrets, func() driver.Driver { return inSecrets })
	storeAll(b, w, objects, asObjects)
	withObjects := ours(b, c)
	withObjects.env = append(slices.Clone(withObjects.env), "HELM_DRIVER="+crdstorage.DriverName)
	measure(b, c, workload{
		name: w.name, title: w.title, about: w.about, base: []string{report.Stock}, tools: []tool{
			readTool(report.Stock, w, stock(b, c), secrets), readTool(report.Helm4, w, helm4(b, c), secrets), readTool(report.Objects, w, withObjects, objects),
		},
	})
}

// readTool returns a tool that runs the command of a workload in a namespace.
func readTool(name string, w storedWorkload, p program, namespace string) tool {
	return tool{name, []step{{name: w.step, do: func(ctx context.Context, _ string) (launch.Usage, error) {
		return p.run(ctx, append(slices.Clone(w.args), "--namespace", namespace)...)
	}}}, p.agent}
}

// storeAll stores the releases of a workload in order, or in parallel if each has another name.
func storeAll(b *testing.B, w storedWorkload, namespace string, newDriver func() driver.Driver) {
	b.Helper()
	parallel := 8
	if w.release(0).Name == w.release(1).Name {
		parallel = 1 // the revisions of a release have an order
	}
	var group errgroup.Group
	group.SetLimit(parallel)
	for i := range w.n {
		group.Go(func() error {
			rel := w.release(i)
			rel.Namespace = namespace
			return newDriver().Create(fmt.Sprintf("sh.helm.release.v1.%s.v%d", rel.Name, rel.Version), rel)
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

// objectDriver installs the definitions of releases, and returns a function that creates drivers that store releases
// as objects. A driver remembers everything that it has stored.
func objectDriver(b *testing.B, c *cluster.Cluster, namespace string) func() driver.Driver {
	b.Helper()
	config := c.Config()
	config.QPS = -1
	objects, err := dynamic.NewForConfig(config)
	if err == nil {
		_, err = releasecrds.Install(b.Context(), objects)
	}
	if err != nil {
		b.Fatal(err)
	}
	kube := unthrottled(b, c)
	return func() driver.Driver {
		return crdstorage.New(crdstorage.Options{
			Namespace: namespace, OwnsObjects: true, Log: b.Logf,
			Connect: func() (kubernetes.Interface, dynamic.Interface, error) { return kube, objects, nil },
		})
	}
}

// largeContents returns the contents of a release that takes about 300 KiB in a Secret.
func largeContents() *release.Release {
	const files, fileSize, seed = 120, 5_000, 1
	r := newRandom(seed)
	rel := &release.Release{Chart: &chart.Chart{
		Metadata: &chart.Metadata{Name: "large", Version: "1.0.0", AppVersion: "1", APIVersion: chart.APIVersionV2},
		Values:   map[string]any{"text": randomYAML(r, fileSize)},
	}}
	for i := range files {
		text := randomYAML(r, fileSize)
		rel.Chart.Templates = append(rel.Chart.Templates, &chart.File{Name: fmt.Sprintf("templates/%d.yaml", i), Data: []byte(text)})
		rel.Manifest += "---\n" + text
	}
	return rel
}

// stored returns a revision of a release with the given contents.
func stored(contents *release.Release, name string, revision int, status release.Status) *release.Release {
	rel, now := *contents, time.Now()
	rel.Name, rel.Version = name, revision
	rel.Info = &release.Info{FirstDeployed: now, LastDeployed: now, Status: status, Description: "Upgrade complete"}
	return &rel
}
