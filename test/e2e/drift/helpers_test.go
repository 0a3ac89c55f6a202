// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/internal/crdstorage"
	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

// operationTimeout limits a correction. It is sufficient for all of them, even on a busy machine.
const operationTimeout = time.Minute

// program is a program that embeds the SDK to correct the drift of the release rel.
type program struct {
	*harness.Helm
	driver string
	// userAgent identifies its requests in the audit log.
	userAgent string
}

// newProgram returns a program with the storage driver of the test run.
func newProgram(h *harness.Helm) *program {
	return &program{Helm: h, driver: harness.StorageDriver(), userAgent: "drift-" + h.Namespace}
}

// kubeconfig returns the path of the kubeconfig in the environment of the harness. It leads
// through a proxy if the test uses one.
func (p *program) kubeconfig() string {
	path := ""
	for _, variable := range p.Env {
		if value, ok := strings.CutPrefix(variable, "KUBECONFIG="); ok {
			path = value
		}
	}
	return path
}

func (p *program) configuration(tb testing.TB) *action.Configuration {
	tb.Helper()
	path := p.kubeconfig()
	flags := genericclioptions.NewConfigFlags(true).WithWrapConfigFn(func(c *rest.Config) *rest.Config {
		c.UserAgent = p.userAgent
		return c
	})
	cache := tb.TempDir() // so that the program does not know kinds that the cluster had earlier
	flags.KubeConfig, flags.Namespace, flags.CacheDir = &path, &p.Namespace, &cache
	cfg := new(action.Configuration)
	harness.NoError(tb, action.InitConfiguration(cfg, flags, p.Namespace, p.driver, func(string, ...any) {}))
	return cfg
}

// try corrects the drift of the release.
func (p *program) try(ctx context.Context, tb testing.TB) (*action.DriftCorrection, error) {
	tb.Helper()
	correct := action.NewCorrectDrift(p.configuration(tb))
	correct.Timeout = operationTimeout
	return correct.RunWithContext(ctx, "rel")
}

// correct corrects the drift of the release, and checks what it reports: "created", "changed" and
// the names of objects, as in "created ConfigMap/a changed Deployment/b".
func (p *program) correct(tb testing.TB, want string) {
	tb.Helper()
	stored := p.stored(tb)
	result, err := p.try(tb.Context(), tb)
	harness.NoError(tb, err)
	if got := describe(result); got != want {
		tb.Errorf("got %q, want %q", got, want)
	}
	p.expectStored(tb, stored)
}

func describe(result *action.DriftCorrection) string {
	if result == nil {
		return "nothing was done"
	}
	var parts []string
	if len(result.Created) > 0 {
		parts = append(parts, "created "+strings.Join(result.Created, " "))
	}
	if len(result.Changed) > 0 {
		parts = append(parts, "changed "+strings.Join(result.Changed, " "))
	}
	return strings.Join(parts, " ")
}

// correction is a call of try in another goroutine.
type correction struct {
	result *action.DriftCorrection
	err    error
	done   chan struct{}
}

func (p *program) start(tb testing.TB) *correction {
	tb.Helper()
	c := &correction{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.result, c.err = p.try(tb.Context(), tb)
	}()
	return c
}

// stored returns the resource version of each object in which the release is stored.
func (p *program) stored(tb testing.TB) []string {
	tb.Helper()
	resources := []schema.GroupVersionResource{{Version: "v1", Resource: "secrets"}}
	if p.driver == crdstorage.DriverName {
		resources = append(resources, releaseapi.ReleaseGVR(), releaseapi.ReleaseVersionGVR(), schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"})
	}
	var versions []string
	for _, resource := range resources {
		list, err := p.Client.Resource(resource).Namespace(p.Namespace).List(tb.Context(), metav1.ListOptions{})
		harness.NoError(tb, err)
		for _, o := range list.Items {
			if harness.IsStorageObject(resource.Resource, o.GetName()) {
				versions = append(versions, fmt.Sprintf("%s/%s %s", resource.Resource, o.GetName(), o.GetResourceVersion()))
			}
		}
	}
	slices.Sort(versions)
	if len(versions) == 0 {
		tb.Fatal("no release is stored")
	}
	return versions
}

// expectStored checks that the release is stored as it was when stored returned want.
func (p *program) expectStored(tb testing.TB, want []string) {
	tb.Helper()
	if got := p.stored(tb); !slices.Equal(got, want) {
		tb.Errorf("the release was stored as\n%s\nand is now\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

// writes returns the requests of the program that could change anything, in the whole cluster.
func (p *program) writes(tb testing.TB) []string {
	tb.Helper()
	var writes []string
	for _, e := range p.Cluster.Audit(tb) {
		if e.UserAgent == p.userAgent && e.Stage == cluster.StageComplete && !slices.Contains([]string{"get", "list", "watch"}, e.Verb) {
			writes = append(writes, fmt.Sprintf("%s %s %d", e.Verb, e.URI, e.Code))
		}
	}
	return writes
}

// expectWrites checks that the program has sent this number of requests that could change
// anything, and has sent any requests at all.
func (p *program) expectWrites(tb testing.TB, want int) {
	tb.Helper()
	if !slices.ContainsFunc(p.Cluster.Audit(tb), func(e cluster.Event) bool { return e.UserAgent == p.userAgent }) {
		tb.Fatal("the audit log has no requests of the program")
	}
	if got := p.writes(tb); len(got) != want {
		tb.Errorf("the program sent %d write requests, want %d:\n%s", len(got), want, strings.Join(got, "\n"))
	}
}
