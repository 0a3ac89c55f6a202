// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/cluster"
	testcluster "github.com/ordered-helm/helm/test/cluster"
)

// BenchmarkApply applies 1,000 ConfigMaps to a real API server: ones that are
// not there, ones that are as declared, and ones that are to be changed.
func BenchmarkApply(b *testing.B) {
	if os.Getenv(testcluster.ReuseEnv) == "" {
		b.Skipf("%s names no cluster: skipped", testcluster.ReuseEnv)
	}
	const count = 1000
	var first, second strings.Builder
	for i := range count {
		document := fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings-%d, labels: {app.kubernetes.io/managed-by: Helm}}\ndata: {key: a}\n", i)
		first.WriteString(document)
		second.WriteString(strings.Replace(document, "key: a", "key: b", 1))
	}
	apply := func(b *testing.B, s *site, before, after string) {
		originals, list := kube.ResourceList(nil), s.build(after)
		if before != "" {
			originals = s.build(before)
		}
		client := cluster.New(s.kube, s.getter, nil)
		b.StartTimer()
		defer b.StopTimer()
		if _, err := client.Apply(b.Context(), list, cluster.ApplyOptions{Originals: originals}); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct{ name, before, after string }{
		{"created", "", first.String()},
		{"unchanged", first.String(), first.String()},
		{"changed", first.String(), second.String()},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.StopTimer()
			for range b.N {
				s := newSite(b, "none")
				if c.before != "" {
					if _, err := cluster.New(s.kube, s.getter, nil).Apply(b.Context(), s.build(c.before), cluster.ApplyOptions{}); err != nil {
						b.Fatal(err)
					}
				}
				apply(b, s, c.before, c.after)
			}
		})
	}
}
