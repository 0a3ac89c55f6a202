// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"testing"

	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

// TestClientsAreCached checks that clients are cached, but not failures to create them.
func TestClientsAreCached(t *testing.T) {
	client := newConnection(t, fakeapi.NewWritableAPI(t))
	one, err := client.Dynamic()
	if err != nil {
		t.Fatal(err)
	}
	other, err := client.Dynamic()
	if err != nil || one != other {
		t.Errorf("made two, %v", err)
	}
	if noRetry, err := client.DynamicNoRetry(); err != nil || noRetry == one {
		t.Errorf("the client without retries is no client of its own, %v", err)
	}
	var cached lazy[dynamic.Interface]
	failure := errors.New("no configuration")
	if _, err := cached.get(func() (dynamic.Interface, error) { return one, failure }); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	if got, err := cached.get(func() (dynamic.Interface, error) { return one, nil }); err != nil || got != one {
		t.Errorf("got %v, %v", got, err)
	}
}
