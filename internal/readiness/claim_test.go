// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func (b *bench) claim(fields string) *unstructured.Unstructured {
	b.Helper()
	return object(b.T, fmt.Sprintf(`{apiVersion: v1, kind: PersistentVolumeClaim,
		metadata: {name: data, namespace: shop, uid: claim-1}, %s}`, fields))
}

func (b *bench) class(name, mode, annotations, created string) {
	b.Helper()
	b.api.put(storageClasses(), object(b.T, fmt.Sprintf(
		`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: %s, creationTimestamp: %q, annotations: {%s}}, volumeBindingMode: %s}`,
		name, created, annotations, mode)))
}

func (b *bench) claimEvent(reason, uid string) {
	b.Helper()
	b.api.put(schema.GroupVersionResource{Version: "v1", Resource: "events"}, object(b.T, fmt.Sprintf(
		`{apiVersion: v1, kind: Event, metadata: {name: e-%s, namespace: shop}, reason: %s,
		involvedObject: {kind: PersistentVolumeClaim, name: data, uid: %s}}`, uid, reason, uid)))
}

func TestBindingOfClaims(t *testing.T) {
	const isDefault = `"storageclass.kubernetes.io/is-default-class": "true"`
	for _, c := range []struct {
		name     string
		claim    string
		cluster  func(b *bench)
		want     Binding
		requests []string // of three calls
	}{
		{"class that waits", `spec: {storageClassName: late}`, func(b *bench) {
			b.class("late", "WaitForFirstConsumer", "", "2024-01-01T00:00:00Z")
		}, BindsOnUse, []string{"get storageclasses"}},
		{"class that does not", `spec: {storageClassName: now}`, func(b *bench) {
			b.class("now", "Immediate", "", "2024-01-01T00:00:00Z")
		}, BindsAtOnce, []string{"get storageclasses"}},
		{"class in the old annotation", `spec: {}`, func(b *bench) {
			b.class("late", "WaitForFirstConsumer", "", "2024-01-01T00:00:00Z")
		}, BindsOnUse, []string{"get storageclasses"}},
		{"class that is not there yet", `spec: {storageClassName: late}`, func(*bench) {},
			BindingUnknown, []string{"get storageclasses", "get storageclasses", "get storageclasses"}},
		{"no class wanted", `spec: {storageClassName: ""}`, func(*bench) {}, BindsAtOnce, nil},
		{"newest default class", `spec: {}`, func(b *bench) {
			b.class("first", "Immediate", isDefault, "2024-01-01T00:00:00Z")
			b.class("second", "WaitForFirstConsumer", `"storageclass.beta.kubernetes.io/is-default-class": "true"`, "2024-02-01T00:00:00Z")
			b.class("third", "Immediate", "", "2024-03-01T00:00:00Z")
		}, BindsOnUse, []string{"list storageclasses"}},
		{"first by name of default classes of one age", `spec: {}`, func(b *bench) {
			b.class("b", "Immediate", isDefault, "2024-01-01T00:00:00Z")
			b.class("a", "WaitForFirstConsumer", isDefault, "2024-01-01T00:00:00Z")
			b.class("c", "Immediate", isDefault, "2024-01-01T00:00:00Z")
		}, BindsOnUse, []string{"list storageclasses"}},
		{"no default class", `spec: {}`, func(*bench) {},
			BindingUnknown, []string{"list storageclasses", "list storageclasses", "list storageclasses"}},
		{"classes forbidden, event there", `spec: {storageClassName: late}`, func(b *bench) {
			b.api.refuse("get storageclasses", http.StatusForbidden)
			b.claimEvent("WaitForFirstConsumer", "claim-1")
		}, BindsOnUse, []string{"get storageclasses", "list events", "list events", "list events"}},
		{"classes forbidden, event that names a pod", `spec: {}`, func(b *bench) {
			b.api.refuse("list storageclasses", http.StatusForbidden)
			b.claimEvent("WaitForPodScheduled", "claim-1")
		}, BindsOnUse, []string{"list storageclasses", "list events", "list events", "list events"}},
		{"classes forbidden, other events", `spec: {storageClassName: late}`, func(b *bench) {
			b.api.refuse("get storageclasses", http.StatusForbidden)
			b.claimEvent("ProvisioningFailed", "claim-1")
			b.claimEvent("WaitForFirstConsumer", "claim-0") // of the claim before this one
		}, BindingUnknown, []string{"get storageclasses", "list events", "list events", "list events"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				c.cluster(b)
				claim := b.claim(c.claim)
				if c.name == "class in the old annotation" {
					claim.SetAnnotations(map[string]string{classAnnotation: "late"})
				}
				classes := NewStorageClasses(b.client)
				for range 3 {
					if got, err := classes.Binding(b.Context(), claim); err != nil || got != c.want {
						b.Errorf("got %v, %v, want %v", got, err, c.want)
					}
				}
				b.expectRequests(c.requests...)
			})
		})
	}
}

func TestBindingThatCannotBeRead(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.api.refuse("get storageclasses", http.StatusForbidden)
		b.api.refuse("list events", http.StatusForbidden)
		classes := NewStorageClasses(b.client)
		claim := b.claim(`spec: {storageClassName: late}, status: {phase: Pending}`)
		if _, err := classes.Binding(b.Context(), claim); err == nil {
			b.Error("want an error when neither classes nor events may be read")
		}
		got := Default(classes.Binding)(b.Context(), claim)
		if got.State != InProgress || got.Recheck != claimRecheck {
			b.Errorf("got %+v", got)
		}
	})
}

func TestDefaultEvaluatorOnClaims(t *testing.T) {
	for _, c := range []struct {
		name   string
		claim  string
		mode   Binding
		err    error
		state  State
		recall time.Duration
		asked  bool
	}{
		{"bound on use", `spec: {}, status: {phase: Pending}`, BindsOnUse, nil, Ready, 0, true},
		{"bound on use, no status yet", `spec: {}`, BindsOnUse, nil, Ready, 0, true},
		{"bound at once", `spec: {}, status: {phase: Pending}`, BindsAtOnce, nil, InProgress, 0, true},
		{"unknown", `spec: {}, status: {phase: Pending}`, BindingUnknown, nil, InProgress, claimRecheck, true},
		{"error", `spec: {}, status: {phase: Pending}`, BindsOnUse, errors.New("no answer"), InProgress, claimRecheck, true},
		{"bound", `spec: {}, status: {phase: Bound}`, BindsOnUse, nil, Ready, 0, false},
		{"lost", `spec: {}, status: {phase: Lost}`, BindsOnUse, nil, InProgress, 0, false},
		{"of a volume by name", `spec: {volumeName: v}, status: {phase: Pending}`, BindsOnUse, nil, InProgress, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &bench{T: t}
			asked := false
			got := Default(func(context.Context, *unstructured.Unstructured) (Binding, error) {
				asked = true
				return c.mode, c.err
			})(t.Context(), b.claim(c.claim))
			if got.State != c.state || got.Recheck != c.recall || asked != c.asked {
				t.Errorf("got %+v, asked: %v", got, asked)
			}
		})
	}
}

func TestClaimOfAWaitingClassDoesNotBlock(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.api.refuse("get storageclasses", http.StatusForbidden)
		claim := b.claim(`spec: {storageClassName: late}, status: {phase: Pending}`)
		g := b.tracker.Expect(targetOf(claims, claim))
		b.write(g, claims, claim)
		w := b.wait(g)
		time.Sleep(3 * time.Second)
		b.expectWaiting(w)
		b.claimEvent("WaitForFirstConsumer", "claim-1")
		time.Sleep(claimRecheck)
		b.expectOver(w, nil)
		b.expectChanges(w, "data InProgress NotBound", "data Ready WaitForFirstConsumer")
	})
}
