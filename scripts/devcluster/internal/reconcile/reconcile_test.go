// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// record provides a Sync that returns preset results and records its calls.
type record struct {
	calls   chan types.NamespacedName
	mu      sync.Mutex
	answers []error
	wake    []time.Time
}

func (r *record) sync(_ context.Context, name types.NamespacedName) (time.Time, error) {
	r.mu.Lock()
	var wake time.Time
	var err error
	if len(r.answers) > 0 {
		wake, err = r.wake[0], r.answers[0]
		r.wake, r.answers = r.wake[1:], r.answers[1:]
	}
	r.mu.Unlock()
	r.calls <- name
	return wake, err
}

func TestLoop(t *testing.T) {
	soon := time.Now().Add(time.Millisecond)
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, "a")
	for _, test := range []struct {
		name    string
		answers []error
		wake    []time.Time
		calls   int
		logged  string
	}{
		{"calls for what is there", nil, nil, 1, ""},
		{"calls again after an error, and tells", []error{errors.New("broken"), nil}, []time.Time{{}, {}}, 2, "broken"},
		{"calls again when the watch lags behind, silently", []error{notFound, nil}, []time.Time{{}, {}}, 2, ""},
		{"calls again when told to", []error{nil, nil, nil}, []time.Time{soon, soon, {}}, 3, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}})
			factory := informers.NewSharedInformerFactory(client, 0)
			var log strings.Builder
			r := &record{calls: make(chan types.NamespacedName, 10), answers: test.answers, wake: test.wake}
			loop := New(factory, 2, slog.New(slog.NewTextHandler(&log, nil)), r.sync)
			if err := loop.Watch(factory.Core().V1().ConfigMaps().Informer()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- loop.Run(ctx) }()
			for range test.calls {
				if name := <-r.calls; name.String() != "ns/a" {
					t.Errorf("called for %s", name)
				}
			}
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("the loop ended with %v", err)
			}
			if got := log.String(); (test.logged == "") != (got == "") || !strings.Contains(got, test.logged) {
				t.Errorf("logged %q, want %q", got, test.logged)
			}
		})
	}
}
