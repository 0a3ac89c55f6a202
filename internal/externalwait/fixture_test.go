// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package externalwait

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/externalneed"
	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/releasestatus"
)

const namespace = "shop"

var (
	secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	jobs        = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	widgets     = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
)

// fixture has a Waiter with a fake API server.
type fixture struct {
	*testing.T
	api       *fakeapi.Server
	transport *fakeapi.Transport
	kinds     *fakeDiscovery
	waiter    *Waiter

	mu      sync.Mutex
	reports []string
}

// runTest runs a test with a Waiter and a fake API server, in fake time. At the end, it checks that
// nothing is running any more: synctest fails if a goroutine of the test stays.
func runTest(t *testing.T, test func(b *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, func(*Config) {})
		defer b.waiter.Close()
		test(b)
		b.waiter.Close()
		synctest.Wait()
		if n := b.api.OpenWatches(); n != 0 {
			t.Errorf("%d watches are open after Close", n)
		}
	})
}

func newFixture(t *testing.T, configure func(*Config)) *fixture {
	t.Helper()
	api := fakeapi.NewServer(t)
	b := &fixture{T: t, api: api, transport: &fakeapi.Transport{Handler: api}, kinds: newDiscovery()}
	connection := cluster.Connect(getter{b}, nil)
	config := Config{
		Cluster: connection, Namespace: namespace, Report: b.report,
		Releases: releasestatus.New(releasestatus.Options{
			Storage: storage.Init(driver.NewSecrets(nil)), Namespace: namespace, Metadata: connection.Metadata, Dynamic: connection.Dynamic,
		}),
	}
	configure(&config)
	b.waiter = New(config)
	if config.Cluster != nil {
		b.waiter.kinds = &kinds{read: b.kinds.read, appeared: b.kinds.record}
	}
	return b
}

func (b *fixture) report(s Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reports = append(b.reports, fmt.Sprintf("%s %s", s.Need, s.State))
}

// getter connects to the API of a fixture.
type getter struct{ b *fixture }

func (g getter) ToRESTConfig() (*rest.Config, error) {
	return &rest.Config{Host: "http://api", Transport: g.b.transport}, nil
}

func (getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return nil, errors.New("no discovery")
}

func (getter) ToRESTMapper() (meta.RESTMapper, error) { return nil, errors.New("no mapper") }

// fakeDiscovery contains the kinds that the cluster serves.
type fakeDiscovery struct {
	mu       sync.Mutex
	served   []*metav1.APIResourceList
	err      error
	reads    int
	appeared []string
}

func newDiscovery() *fakeDiscovery {
	d := &fakeDiscovery{}
	d.serve("v1", "Secret", "secrets", true)
	d.serve("v1", "Pod", "pods", true)
	d.serve("v1", "Service", "services", true)
	d.serve("v1", "Namespace", "namespaces", false)
	d.serve("apps/v1", "Deployment", "deployments", true)
	d.serve("batch/v1", "Job", "jobs", true)
	d.serve("serving.example.dev/v1", "Service", "services", true)
	d.serve("a.example.com/v1", "Cache", "caches", true)
	d.serve("b.example.com/v1", "Cache", "caches", true)
	return d
}

func (d *fakeDiscovery) serve(groupVersion, kind, resource string, namespaced bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.served = append(d.served, &metav1.APIResourceList{GroupVersion: groupVersion, APIResources: []metav1.APIResource{
		{Name: resource, Kind: kind, Namespaced: namespaced, Verbs: metav1.Verbs{"get", "list", "watch"}},
		{Name: resource + "/status", Kind: kind, Namespaced: namespaced, Verbs: metav1.Verbs{"get"}},
	}})
}

func (d *fakeDiscovery) read() ([]*metav1.APIResourceList, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reads++
	if d.err != nil {
		return nil, d.err
	}
	return slices.Clone(d.served), nil
}

func (d *fakeDiscovery) record(_ context.Context, kind schema.GroupVersionKind) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.appeared = append(d.appeared, kind.Kind)
	return nil
}

func (d *fakeDiscovery) setError(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

// needs parses needs.
func (b *fixture) needs(texts ...string) []externalneed.Need {
	b.Helper()
	var list []externalneed.Need
	for _, text := range texts {
		n, err := externalneed.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}

// put stores an object.
func (b *fixture) put(gvr schema.GroupVersionResource, text string) {
	b.Helper()
	b.api.Put(gvr, fakeapi.Object(b.T, text))
}

func secret(namespace, name string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: %s, namespace: %s}}", name, namespace)
}

func deployment(name string, ready int) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, namespace: %s, generation: 1}, spec: {replicas: 1},
		status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: %d, availableReplicas: %d, conditions: [{type: Available, status: "True"}]}}`,
		name, namespace, ready, ready)
}

// revision returns a Secret with the labels of a revision of a release.
func revision(namespace, name, number, status string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Secret, metadata: {name: sh.helm.release.v1.%[2]s.v%[3]s, namespace: %[1]s,
		labels: {owner: helm, name: %[2]s, version: "%[3]s", status: %[4]s}}}`, namespace, name, number, status)
}

// waiting is a Wait that runs in the background.
type waiting struct {
	done chan struct{}
	err  error
	took time.Duration
}

func (b *fixture) wait(ctx context.Context, timeout time.Duration, texts ...string) *waiting {
	b.Helper()
	w, needs, start := &waiting{done: make(chan struct{})}, b.needs(texts...), time.Now()
	go func() {
		defer close(w.done)
		w.err = b.waiter.Wait(ctx, needs, timeout)
		w.took = time.Since(start)
	}()
	return w
}

// expectWaiting lets time pass, and fails the test if the wait is over.
func (b *fixture) expectWaiting(w *waiting, pass time.Duration) {
	b.Helper()
	time.Sleep(pass)
	synctest.Wait()
	select {
	case <-w.done:
		b.Fatalf("the wait ended: %v", w.err)
	default:
	}
}

// expectReady fails the test unless the wait ends successfully within a duration.
func (b *fixture) expectReady(w *waiting, within time.Duration) {
	b.Helper()
	b.expectOver(w, within)
	if w.err != nil {
		b.Fatalf("got error %v", w.err)
	}
}

// expectUnmet returns the error with which the wait ends within a duration.
func (b *fixture) expectUnmet(w *waiting, within time.Duration) *UnmetError {
	b.Helper()
	b.expectOver(w, within)
	unmet, ok := errors.AsType[*UnmetError](w.err)
	if !ok {
		b.Fatalf("got error %v, want an UnmetError", w.err)
	}
	return unmet
}

func (b *fixture) expectOver(w *waiting, within time.Duration) {
	b.Helper()
	if within == 0 {
		synctest.Wait()
	}
	select {
	case <-w.done:
	case <-time.After(within + time.Millisecond):
		b.Fatalf("still waiting; reports: %q", b.reports)
	}
}
