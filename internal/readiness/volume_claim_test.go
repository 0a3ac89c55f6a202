// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

// fixture is a fake API server with a client.
type fixture struct {
	*testing.T
	api    *fakeapi.Server
	client dynamic.Interface
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	api := fakeapi.NewServer(t)
	return &fixture{T: t, api: api, client: fakeapi.Client(t, "http://127.0.0.1", &fakeapi.Transport{Handler: api})}
}

func (f *fixture) claim(fields string) *unstructured.Unstructured {
	f.Helper()
	return fakeapi.Object(f.T, fmt.Sprintf(`{apiVersion: v1, kind: PersistentVolumeClaim,
		metadata: {name: data, namespace: shop, uid: claim-1}, %s}`, fields))
}

func (f *fixture) class(name, mode, annotations, created string) {
	f.Helper()
	f.api.Put(storageClassResource(), fakeapi.Object(f.T, fmt.Sprintf(
		`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: %s, creationTimestamp: %q, annotations: {%s}}, volumeBindingMode: %s}`,
		name, created, annotations, mode)))
}

func (f *fixture) claimEvent(reason, uid string) {
	f.Helper()
	f.api.Put(schema.GroupVersionResource{Version: "v1", Resource: "events"}, fakeapi.Object(f.T, fmt.Sprintf(
		`{apiVersion: v1, kind: Event, metadata: {name: e-%s, namespace: shop}, reason: %s,
		involvedObject: {kind: PersistentVolumeClaim, name: data, uid: %s}}`, uid, reason, uid)))
}

func TestBindingOfClaims(t *testing.T) {
	const isDefault = `"storageclass.kubernetes.io/is-default-class": "true"`
	for _, c := range []struct {
		name     string
		claim    string
		cluster  func(f *fixture)
		want     VolumeBindingMode
		requests []string // the requests of three calls
	}{
		{"class that waits", `spec: {storageClassName: late}`, func(f *fixture) {
			f.class("late", "WaitForFirstConsumer", "", "2024-01-01T00:00:00Z")
		}, BindsOnFirstConsumer, []string{"get storageclasses"}},
		{"class that does not", `spec: {storageClassName: now}`, func(f *fixture) {
			f.class("now", "Immediate", "", "2024-01-01T00:00:00Z")
		}, BindsImmediately, []string{"get storageclasses"}},
		{"class in the old annotation", `spec: {}`, func(f *fixture) {
			f.class("late", "WaitForFirstConsumer", "", "2024-01-01T00:00:00Z")
		}, BindsOnFirstConsumer, []string{"get storageclasses"}},
		{"class that is not there yet", `spec: {storageClassName: late}`, func(*fixture) {},
			BindingUnknown, []string{"get storageclasses", "get storageclasses", "get storageclasses"}},
		{"no class wanted", `spec: {storageClassName: ""}`, func(*fixture) {}, BindsImmediately, nil},
		{"newest default class", `spec: {}`, func(f *fixture) {
			f.class("first", "Immediate", isDefault, "2024-01-01T00:00:00Z")
			f.class("second", "WaitForFirstConsumer", `"storageclass.beta.kubernetes.io/is-default-class": "true"`, "2024-02-01T00:00:00Z")
			f.class("third", "Immediate", "", "2024-03-01T00:00:00Z")
		}, BindsOnFirstConsumer, []string{"list storageclasses"}},
		{"first by name of default classes of one age", `spec: {}`, func(f *fixture) {
			f.class("b", "Immediate", isDefault, "2024-01-01T00:00:00Z")
			f.class("a", "WaitForFirstConsumer", isDefault, "2024-01-01T00:00:00Z")
			f.class("c", "Immediate", isDefault, "2024-01-01T00:00:00Z")
		}, BindsOnFirstConsumer, []string{"list storageclasses"}},
		{"no default class", `spec: {}`, func(*fixture) {},
			BindingUnknown, []string{"list storageclasses", "list storageclasses", "list storageclasses"}},
		{"classes forbidden, event there", `spec: {storageClassName: late}`, func(f *fixture) {
			f.api.Fail("get storageclasses", http.StatusForbidden)
			f.claimEvent("WaitForFirstConsumer", "claim-1")
		}, BindsOnFirstConsumer, []string{"get storageclasses", "list events", "list events", "list events"}},
		{"classes forbidden, event that names a pod", `spec: {}`, func(f *fixture) {
			f.api.Fail("list storageclasses", http.StatusForbidden)
			f.claimEvent("WaitForPodScheduled", "claim-1")
		}, BindsOnFirstConsumer, []string{"list storageclasses", "list events", "list events", "list events"}},
		{"classes forbidden, other events", `spec: {storageClassName: late}`, func(f *fixture) {
			f.api.Fail("get storageclasses", http.StatusForbidden)
			f.claimEvent("ProvisioningFailed", "claim-1")
			f.claimEvent("WaitForFirstConsumer", "claim-0") // about the previous claim
		}, BindingUnknown, []string{"get storageclasses", "list events", "list events", "list events"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			c.cluster(f)
			claim := f.claim(c.claim)
			if c.name == "class in the old annotation" {
				claim.SetAnnotations(map[string]string{classAnnotation: "late"})
			}
			classes := NewStorageClasses(f.client)
			for range 3 {
				if got, err := classes.BindingMode(t.Context(), claim); err != nil || got != c.want {
					t.Errorf("got %v, %v, want %v", got, err, c.want)
				}
			}
			if got := f.api.Requests(); !slices.Equal(got, c.requests) {
				t.Errorf("got requests %q, want %q", got, c.requests)
			}
		})
	}
}

// TestClassIsReadOnce checks that a class is read once, even if several claims are evaluated at the same time.
func TestClassIsReadOnce(t *testing.T) {
	f := newFixture(t)
	f.api.Fail("get storageclasses", http.StatusForbidden)
	classes := NewStorageClasses(f.client)
	claim := f.claim(`spec: {storageClassName: late}, status: {phase: Pending}`)
	gate := f.api.Block("get storageclasses")
	var g, started sync.WaitGroup
	for range 50 {
		started.Add(1)
		g.Go(func() {
			started.Done()
			if _, err := classes.BindingMode(t.Context(), claim); err != nil {
				t.Error(err)
			}
		})
	}
	started.Wait()
	close(gate)
	g.Wait()
	read := slices.DeleteFunc(f.api.Requests(), func(r string) bool { return r != "get storageclasses" })
	if len(read) != 1 {
		t.Errorf("the class was read %d times", len(read))
	}
}

func TestBindingThatCannotBeRead(t *testing.T) {
	f := newFixture(t)
	f.api.Fail("get storageclasses", http.StatusForbidden)
	f.api.Fail("list events", http.StatusForbidden)
	classes := NewStorageClasses(f.client)
	claim := f.claim(`spec: {storageClassName: late}, status: {phase: Pending}`)
	if _, err := classes.BindingMode(t.Context(), claim); err == nil {
		t.Error("want an error when neither classes nor events may be read")
	}
	got := NewEvaluator(classes.BindingMode)(t.Context(), claim)
	if got.State != InProgress || got.RecheckAfter != claimRecheckInterval {
		t.Errorf("got %+v", got)
	}
}

func TestDefaultEvaluatorOnClaims(t *testing.T) {
	for _, c := range []struct {
		name   string
		claim  string
		mode   VolumeBindingMode
		err    error
		state  State
		recall time.Duration
		asked  bool
	}{
		{"bound on use", `spec: {}, status: {phase: Pending}`, BindsOnFirstConsumer, nil, Ready, 0, true},
		{"bound on use, no status yet", `spec: {}`, BindsOnFirstConsumer, nil, Ready, 0, true},
		{"bound at once", `spec: {}, status: {phase: Pending}`, BindsImmediately, nil, InProgress, 0, true},
		{"unknown", `spec: {}, status: {phase: Pending}`, BindingUnknown, nil, InProgress, claimRecheckInterval, true},
		{"error", `spec: {}, status: {phase: Pending}`, BindsOnFirstConsumer, errors.New("no answer"), InProgress, claimRecheckInterval, true},
		{"bound", `spec: {}, status: {phase: Bound}`, BindsOnFirstConsumer, nil, Ready, 0, false},
		{"lost", `spec: {}, status: {phase: Lost}`, BindsOnFirstConsumer, nil, InProgress, 0, false},
		{"of a volume by name", `spec: {volumeName: v}, status: {phase: Pending}`, BindsOnFirstConsumer, nil, InProgress, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fixture{T: t}
			asked := false
			got := NewEvaluator(func(context.Context, *unstructured.Unstructured) (VolumeBindingMode, error) {
				asked = true
				return c.mode, c.err
			})(t.Context(), f.claim(c.claim))
			if got.State != c.state || got.RecheckAfter != c.recall || asked != c.asked {
				t.Errorf("got %+v, asked: %v", got, asked)
			}
		})
	}
}
