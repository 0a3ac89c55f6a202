// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

// newConnection returns a Connection to a fake API server.
func newConnection(t *testing.T, api *fakeapi.WritableAPI) *Connection {
	t.Helper()
	return Connect(api.Getter(), t.Logf)
}

// foreign returns manifests of objects without Helm's label.
func foreign(count int) []string {
	all := fakeapi.ConfigMaps(count, "a")
	for i := range all {
		all[i] = withoutLabel(all[i])
	}
	return all
}

// withoutLabel removes Helm's label.
func withoutLabel(manifest string) string {
	return strings.Replace(manifest, "app.kubernetes.io/managed-by: Helm", "", 1)
}

func TestLive(t *testing.T) {
	notAllowed := func(verb string) func(fakeapi.ReceivedCall) error {
		return func(c fakeapi.ReceivedCall) error {
			if c.Verb == verb {
				return fakeapi.Forbidden(c)
			}
			return nil
		}
	}
	for _, c := range []struct {
		name string
		// there contains the manifests of existing objects, and asked those of the objects
		// to read.
		there, asked []string
		fault        func(fakeapi.ReceivedCall) error
		// found is the number of objects that are found. lists and gets are the numbers of
		// list and get requests.
		found, lists, gets int
	}{
		{name: "nothing", found: 0},
		{name: "a few are read one by one", there: fakeapi.ConfigMaps(7, "a"), asked: fakeapi.ConfigMaps(7, "a"), found: 7, gets: 7},
		{name: "many are listed", there: fakeapi.ConfigMaps(8, "a"), asked: fakeapi.ConfigMaps(8, "a"), found: 8, lists: 1},
		{
			name: "of each kind and namespace by itself", there: append(fakeapi.ConfigMaps(8, "a"), "{apiVersion: v1, kind: Namespace, metadata: {name: ns}}"),
			asked: append(fakeapi.ConfigMaps(8, "a"), "{apiVersion: v1, kind: Namespace, metadata: {name: ns}}"),
			found: 9, lists: 1, gets: 1,
		},
		{name: "a few without the label", there: append(fakeapi.ConfigMaps(8, "a"), withoutLabel(fakeapi.ConfigMap("b", "x: y"))), asked: append(fakeapi.ConfigMaps(8, "a"), fakeapi.ConfigMap("b", "x: y")), found: 9, lists: 1, gets: 1},
		{name: "none is there", asked: fakeapi.ConfigMaps(20, "a"), lists: 2},
		{name: "most are not there, one has no label", there: []string{withoutLabel(fakeapi.ConfigMaps(9, "a")[8])}, asked: fakeapi.ConfigMaps(20, "a"), found: 1, lists: 2, gets: 1},
		{name: "a list with more pages", there: append(fakeapi.ConfigMaps(132, "0"), fakeapi.ConfigMaps(8, "a")...), asked: fakeapi.ConfigMaps(8, "a"), found: 8, lists: 1, gets: 8},
		{name: "a list of names with more pages", there: foreign(133), asked: fakeapi.ConfigMaps(8, "b"), lists: 2, gets: 8},
		{name: "lists are forbidden", there: fakeapi.ConfigMaps(8, "a"), asked: fakeapi.ConfigMaps(9, "a"), fault: notAllowed("list"), found: 8, lists: 1, gets: 9},
		{
			name: "lists are not supported", there: fakeapi.ConfigMaps(8, "a"), asked: fakeapi.ConfigMaps(9, "a"), found: 8, lists: 1, gets: 9,
			fault: func(c fakeapi.ReceivedCall) error {
				if c.Verb == "list" {
					return apierrors.NewMethodNotSupported(schema.GroupResource{}, "list")
				}
				return nil
			},
		},
		{
			name: "lists of names are not supported", asked: fakeapi.ConfigMaps(9, "a"), lists: 2, gets: 9,
			fault: func(c fakeapi.ReceivedCall) error {
				if strings.Contains(c.Header.Get("Accept"), "PartialObject") {
					return apierrors.NewGenericServerResponse(http.StatusNotAcceptable, "list", schema.GroupResource{}, "", "", 0, false)
				}
				return nil
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fakeapi.NewWritableAPI(t)
				api.Have(c.there...)
				api.Fault = c.fault
				list := fakeapi.Infos(t, c.asked...)
				live, err := newConnection(t, api).Live(t.Context(), list)
				if err != nil {
					t.Fatal(err)
				}
				if len(live) != c.found || api.Count("list") != c.lists || api.Count("get") != c.gets {
					t.Errorf("found %d with %d lists and %d reads, want %d, %d, %d",
						len(live), api.Count("list"), api.Count("get"), c.found, c.lists, c.gets)
				}
				for _, info := range list {
					want := api.Get(info)
					switch {
					case (want != nil) != (live[info] != nil):
						t.Errorf("%s: found %v, on the server %v", info.Name, live[info], want)
					case want != nil && (live[info].GetUID() != want.GetUID() || live[info].GetKind() != want.GetKind()):
						t.Errorf("%s: found %v, want %v", info.Name, live[info], want)
					}
				}
			})
		})
	}
}

// TestLiveConcurrency reads many objects in parallel, but not more than the limit.
func TestLiveConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, gate := fakeapi.NewWritableAPI(t), make(chan struct{})
		api.Fault = func(c fakeapi.ReceivedCall) error {
			if c.Verb == "list" {
				return fakeapi.Forbidden(c)
			}
			<-gate
			return nil
		}
		list := fakeapi.Infos(t, fakeapi.ConfigMaps(40, "a")...)
		done := make(chan error)
		go func() {
			_, err := newConnection(t, api).Live(t.Context(), list)
			done <- err
		}()
		synctest.Wait()
		if n := api.Pending(); n != InitialConcurrency {
			t.Errorf("%d requests are pending, want %d", n, InitialConcurrency)
		}
		close(gate)
		if err := <-done; err != nil || api.Count("get") != 40 || api.MaxPending() > InitialConcurrency {
			t.Errorf("%v, %d reads, %d at once", err, api.Count("get"), api.MaxPending())
		}
	})
}

// TestLiveError checks that the error is about the first failed object in the list, not the
// first one in time.
func TestLiveError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, second := fakeapi.NewWritableAPI(t), make(chan struct{})
		api.Fault = func(c fakeapi.ReceivedCall) error {
			switch c.Path {
			case "configmaps/b":
				<-second
				return fakeapi.Forbidden(c)
			case "configmaps/d":
				defer close(second)
				return fakeapi.Forbidden(c)
			}
			return nil
		}
		list := fakeapi.Infos(t, fakeapi.ConfigMap("a", ""), fakeapi.ConfigMap("b", ""), fakeapi.ConfigMap("c", ""), fakeapi.ConfigMap("d", ""))
		_, err := newConnection(t, api).Live(t.Context(), list)
		var failure ReadError
		if !errors.As(err, &failure) || failure.Info != list[1] || !apierrors.IsForbidden(err) {
			t.Fatalf("got %v", err)
		}
		if want := `could not get information about the resource ConfigMap "b" in namespace "ns": `; !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %q, want %q", err, want)
		}
	})
}

// TestLiveNoResponse checks that objects are not read one by one if the server does not
// respond to a list request.
func TestLiveNoResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.NewWritableAPI(t)
		away := errors.New("no route to host")
		api.Fault = func(fakeapi.ReceivedCall) error { return away }
		_, err := newConnection(t, api).Live(t.Context(), fakeapi.Infos(t, fakeapi.ConfigMaps(20, "a")...))
		if !errors.Is(err, away) || !strings.Contains(err.Error(), `"a-0"`) || api.Count("get") != 0 {
			t.Errorf("got %v after %d reads", err, api.Count("get"))
		}
	})
}

// TestLiveStopsEarly checks that requests that can no longer change the result are not
// sent.
func TestLiveStopsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.NewWritableAPI(t)
		api.Fault = fakeapi.Forbidden
		_, err := newConnection(t, api).Live(t.Context(), fakeapi.Infos(t, fakeapi.ConfigMaps(400, "a")...))
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `"a-0"`) {
			t.Errorf("got %v", err)
		}
		if n := api.Count("get"); n > 2*InitialConcurrency {
			t.Errorf("%d reads", n)
		}
	})
}

func TestLiveCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.NewWritableAPI(t)
		ctx, cancel := context.WithCancel(t.Context())
		api.Fault = func(c fakeapi.ReceivedCall) error {
			cancel()
			<-c.Context().Done()
			return nil
		}
		for _, count := range []int{3, 30} {
			live, err := newConnection(t, api).Live(ctx, fakeapi.Infos(t, fakeapi.ConfigMaps(count, "a")...))
			if !errors.Is(err, context.Canceled) || errors.As(err, new(ReadError)) || live != nil {
				t.Errorf("got %v, %v, which is no object's fault", live, err)
			}
		}
		if n := api.Count("get") + api.Count("list"); n > 3 {
			t.Errorf("%d requests", n)
		}
	})
}

// TestLiveWithoutGetter checks that objects are read with their own clients.
func TestLiveWithoutGetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.NewWritableAPI(t)
		api.Have(fakeapi.ConfigMaps(10, "a")...)
		config := rest.Config{Host: "http://api", Transport: api, APIPath: "/api"}
		config.GroupVersion = &schema.GroupVersion{Version: "v1"}
		config.NegotiatedSerializer = resource.UnstructuredPlusDefaultContentConfig().NegotiatedSerializer
		client, err := rest.RESTClientFor(&config)
		if err != nil {
			t.Fatal(err)
		}
		list := fakeapi.Infos(t, fakeapi.ConfigMaps(12, "a")...)
		for _, info := range list {
			info.Client = client
		}
		live, err := NewWithoutCluster(&kube.Client{}).Live(t.Context(), list)
		if err != nil || len(live) != 10 || api.Count("list") != 0 {
			t.Errorf("found %d, %v, with %d lists", len(live), err, api.Count("list"))
		}
		api.Fault = fakeapi.Forbidden
		if _, err := NewWithoutCluster(&kube.Client{}).Live(t.Context(), list); err == nil || !strings.Contains(err.Error(), `ConfigMap "a-0" in namespace "ns"`) {
			t.Errorf("got %v", err)
		}
	})
}
