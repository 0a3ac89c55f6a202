// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/readiness"
)

func TestClaimOfAWaitingClassDoesNotBlock(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.api.Fail("get storageclasses", http.StatusForbidden)
		claim := fakeapi.Object(b.T, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop, uid: claim-1},
			spec: {storageClassName: late}, status: {phase: Pending}}`)
		g := b.watcher.ExpectReady(targetOf(claims, claim))
		b.write(g, claims, claim)
		w := b.wait(g)
		time.Sleep(3 * time.Second)
		b.expectWaiting(w)
		b.api.Put(schema.GroupVersionResource{Version: "v1", Resource: "events"}, fakeapi.Object(b.T, `{apiVersion: v1, kind: Event,
			metadata: {name: e, namespace: shop}, reason: WaitForFirstConsumer,
			involvedObject: {kind: PersistentVolumeClaim, name: data, uid: claim-1}}`))
		time.Sleep(time.Second) // claims are judged again after this time
		b.expectOver(w, nil)
		b.expectChanges(w, "data InProgress NotBound", "data Ready WaitForFirstConsumer")
	})
}

// TestRulesAreAskedOfEveryVersion checks that even a temporary failure counts.
func TestRulesAreAskedOfEveryVersion(t *testing.T) {
	runTest(t, func(b *fixture) {
		thing := func(phase string) *unstructured.Unstructured {
			return fakeapi.Object(b.T, `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a, namespace: shop}, status: {phase: `+phase+`}}`)
		}
		done, failure := annotation.ParseExpression("phase == Done")
		broken, otherFailure := annotation.ParseExpression("phase == Broken")
		if err := errors.Join(failure, otherFailure); err != nil {
			b.Fatal(err)
		}
		rules := readiness.Expressions{Success: []annotation.ReadinessExpression{done}, Failure: []annotation.ReadinessExpression{broken}}
		target := targetOf(things, thing("New"))
		target.Evaluate = rules.Evaluator(func(_ context.Context, obj *unstructured.Unstructured) readiness.Status {
			return readiness.Compute(obj)
		})
		g := b.watcher.ExpectReady(target)
		b.write(g, things, thing("New"))
		w := b.wait(g)
		b.expectWaiting(w)
		b.api.PauseWatches(true)
		b.api.Put(things, thing("Broken"))
		b.api.Put(things, thing("Done"))
		b.api.PauseWatches(false)
		b.expectOver(w, ErrFailed)
	})
}
