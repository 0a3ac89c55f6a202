// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"helm.sh/helm/v3/pkg/time"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/test/bench/launch"
	"github.com/ordered-helm/helm/test/bench/report"
	"github.com/ordered-helm/helm/test/cluster"
)

// BenchmarkList runs `helm list` in a namespace with many releases.
func BenchmarkList(b *testing.B) {
	const n = 1000
	c := cluster.Shared(b)
	namespace := c.Namespace(b)
	storeReleases(b, c, namespace, n)
	var tools []tool
	for _, t := range versionsOfHelm(b, c) {
		tools = append(tools, tool{t.name, []step{{name: report.List, do: func(ctx context.Context, _ string) (launch.Usage, error) {
			return t.program.run(ctx, "list", "--namespace", namespace)
		}}}, t.program.agent})
	}
	tools = append(tools, tool{name: report.Hand, steps: []step{{name: report.List, do: inProcess(readSecrets(b, c, namespace))}}})
	measure(b, c, workload{
		name: report.ListName, title: fmt.Sprintf("list of %s releases", report.Thousands(n)),
		about: "`helm list` in a namespace with releases of charts that have between 20 and 100 KB of templates. *hand* sends the same list " +
			"request, and discards the response: it takes the time that the server needs.",
		base: []string{report.Stock}, tools: tools,
	})
}

// storeReleases stores n releases in a namespace, as Helm does.
func storeReleases(b *testing.B, c *cluster.Cluster, namespace string, n int) {
	b.Helper()
	const parallel = 8
	storage := driver.NewSecrets(unthrottled(b, c).CoreV1().Secrets(namespace))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i := range n {
		group.Go(func() error {
			rel := largeRelease(i, namespace)
			return storage.Create(fmt.Sprintf("sh.helm.release.v1.%s.v1", rel.Name), rel)
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

// largeRelease returns a release whose chart has between 20 and 100 KB of templates, in files of
// 5 KB.
func largeRelease(i int, namespace string) *release.Release {
	const fileSize, minFiles, maxFiles, readmeSize = 5_000, 4, 20, 20_000
	r := newRandom(i)
	rel := &release.Release{
		Name: fmt.Sprintf("release-%04d", i), Namespace: namespace, Version: 1,
		Info: &release.Info{FirstDeployed: time.Now(), LastDeployed: time.Now(), Status: release.StatusDeployed, Description: "Install complete"},
		Chart: &chart.Chart{
			Metadata: &chart.Metadata{Name: "large", Version: "1.0.0", AppVersion: "1", APIVersion: chart.APIVersionV2},
			Values:   map[string]any{"text": randomYAML(r, fileSize)},
			Files:    []*chart.File{{Name: "README.md", Data: []byte(randomYAML(r, readmeSize))}},
		},
	}
	for file := range minFiles + r.IntN(maxFiles-minFiles+1) {
		text := randomYAML(r, fileSize)
		rel.Chart.Templates = append(rel.Chart.Templates, &chart.File{Name: fmt.Sprintf("templates/%d.yaml", file), Data: []byte(text)})
		rel.Manifest += "---\n" + text[:fileSize/2]
	}
	return rel
}

// newRandom returns a source of random numbers, which are always the same for a seed.
func newRandom(seed int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 0)) }

// randomYAML returns random text of the given size, in bytes, that can be compressed as well as
// the templates of public charts.
func randomYAML(r *rand.Rand, size int) string {
	const depth = 6
	var text strings.Builder
	for text.Len() < size {
		fmt.Fprintf(&text, "%s%s: {{ .Values.%s.%s | default %d | quote }}\n",
			strings.Repeat("  ", r.IntN(depth)), word(r), word(r), word(r), r.IntN(100_000))
	}
	return text.String()[:size]
}

// word returns a random word.
func word(r *rand.Rand) string {
	syllables := strings.Fields("con tain er ser vice port se lec tor en abled vol ume name probe annot")
	return syllables[r.IntN(len(syllables))] + syllables[r.IntN(len(syllables))]
}

// readSecrets returns a function that sends the same list request as Helm, and discards the
// response without decompressing it.
func readSecrets(b *testing.B, c *cluster.Cluster, namespace string) func(context.Context, string) error {
	b.Helper()
	config := c.Config()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		b.Fatal(err)
	}
	url := config.Host + "/api/v1/namespaces/" + namespace + "/secrets?labelSelector=owner%3Dhelm"
	return func(ctx context.Context, _ string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		request.Header.Set("Accept", "application/vnd.kubernetes.protobuf,application/json")
		request.Header.Set("Accept-Encoding", "gzip")
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("list Secrets: %s", response.Status)
		}
		_, err = io.Copy(io.Discard, response.Body)
		return err
	}
}
