// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
)

// many returns the manifests of ConfigMaps named prefix-0 and so on.
func many(count int, prefix string) []string {
	var all []string
	for i := range count {
		all = append(all, settings(fmt.Sprintf("%s-%d", prefix, i), "a: b"))
	}
	return all
}

// foreign returns manifests that Helm has nothing to do with.
func foreign(count int) []string {
	all := many(count, "a")
	for i := range all {
		all[i] = unmarked(all[i])
	}
	return all
}

func unmarked(manifest string) string {
	return strings.Replace(manifest, "app.kubernetes.io/managed-by: Helm", "", 1)
}

func TestLive(t *testing.T) {
	notAllowed := func(verb string) func(call) error {
		return func(c call) error {
			if c.verb == verb {
				return forbidden(c)
			}
			return nil
		}
	}
	for _, c := range []struct {
		name string
		// there and asked are manifests.
		there, asked []string
		fault        func(call) error
		// found is how many of those asked for; lists and gets are requests.
		found, lists, gets int
	}{
		{name: "nothing", found: 0},
		{name: "a few are read one by one", there: many(7, "a"), asked: many(7, "a"), found: 7, gets: 7},
		{name: "many are listed", there: many(8, "a"), asked: many(8, "a"), found: 8, lists: 1},
		{
			name: "of each kind and namespace by itself", there: append(many(8, "a"), "{apiVersion: v1, kind: Namespace, metadata: {name: ns}}"),
			asked: append(many(8, "a"), "{apiVersion: v1, kind: Namespace, metadata: {name: ns}}"),
			found: 9, lists: 1, gets: 1,
		},
		{name: "a few without the mark", there: append(many(8, "a"), unmarked(settings("b", "x: y"))), asked: append(many(8, "a"), settings("b", "x: y")), found: 9, lists: 1, gets: 1},
		{name: "none is there", asked: many(20, "a"), lists: 2},
		{name: "most are not there, one has no mark", there: []string{unmarked(many(9, "a")[8])}, asked: many(20, "a"), found: 1, lists: 2, gets: 1},
		{name: "a list that is cut", there: append(many(132, "0"), many(8, "a")...), asked: many(8, "a"), found: 8, lists: 1, gets: 8},
		{name: "a list of names that is cut", there: foreign(133), asked: many(8, "b"), lists: 2, gets: 8},
		{name: "lists are forbidden", there: many(8, "a"), asked: many(9, "a"), fault: notAllowed("list"), found: 8, lists: 1, gets: 9},
		{
			name: "lists are not supported", there: many(8, "a"), asked: many(9, "a"), found: 8, lists: 1, gets: 9,
			fault: func(c call) error {
				if c.verb == "list" {
					return apierrors.NewMethodNotSupported(schema.GroupResource{}, "list")
				}
				return nil
			},
		},
		{
			name: "lists of names are not supported", asked: many(9, "a"), lists: 2, gets: 9,
			fault: func(c call) error {
				if strings.Contains(c.Header.Get("Accept"), "PartialObject") {
					return apierrors.NewGenericServerResponse(http.StatusNotAcceptable, "list", schema.GroupResource{}, "", "", 0, false)
				}
				return nil
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newFakeAPI(t)
				api.have(c.there...)
				api.fault = c.fault
				list := objects(t, c.asked...)
				live, err := api.client().Live(t.Context(), list)
				if err != nil {
					t.Fatal(err)
				}
				if len(live) != c.found || api.count("list") != c.lists || api.count("get") != c.gets {
					t.Errorf("found %d with %d lists and %d reads, want %d, %d, %d",
						len(live), api.count("list"), api.count("get"), c.found, c.lists, c.gets)
				}
				for _, info := range list {
					want := api.now(info)
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

// TestLiveBound reads many objects side by side, but not more than atOnce.
func TestLiveBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, gate := newFakeAPI(t), make(chan struct{})
		api.fault = func(c call) error {
			if c.verb == "list" {
				return forbidden(c)
			}
			<-gate
			return nil
		}
		list := objects(t, many(40, "a")...)
		done := make(chan error)
		go func() {
			_, err := api.client().Live(t.Context(), list)
			done <- err
		}()
		synctest.Wait()
		if n := api.underWay(); n != atOnce {
			t.Errorf("%d requests are under way, want %d", n, atOnce)
		}
		close(gate)
		if err := <-done; err != nil || api.count("get") != 40 || api.most > atOnce {
			t.Errorf("%v, %d reads, %d at once", err, api.count("get"), api.most)
		}
	})
}

// TestLiveError names the first object of the list, not the first in time.
func TestLiveError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, second := newFakeAPI(t), make(chan struct{})
		api.fault = func(c call) error {
			switch c.path {
			case "configmaps/b":
				<-second
				return forbidden(c)
			case "configmaps/d":
				defer close(second)
				return forbidden(c)
			}
			return nil
		}
		list := objects(t, settings("a", ""), settings("b", ""), settings("c", ""), settings("d", ""))
		_, err := api.client().Live(t.Context(), list)
		var failure ObjectError
		if !errors.As(err, &failure) || failure.Info != list[1] || !apierrors.IsForbidden(err) {
			t.Fatalf("got %v", err)
		}
		if want := `could not get information about the resource ConfigMap "b" in namespace "ns": `; !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %q, want %q", err, want)
		}
	})
}

// TestLiveNoAnswer does not ask a server again that gives no answer.
func TestLiveNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t)
		away := errors.New("no route to host")
		api.fault = func(call) error { return away }
		_, err := api.client().Live(t.Context(), objects(t, many(20, "a")...))
		if !errors.Is(err, away) || !strings.Contains(err.Error(), `"a-0"`) || api.count("get") != 0 {
			t.Errorf("got %v after %d reads", err, api.count("get"))
		}
	})
}

// TestLiveStopsEarly spares requests that cannot count any more.
func TestLiveStopsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t)
		api.fault = forbidden
		_, err := api.client().Live(t.Context(), objects(t, many(400, "a")...))
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `"a-0"`) {
			t.Errorf("got %v", err)
		}
		if n := api.count("get"); n > 2*atOnce {
			t.Errorf("%d reads", n)
		}
	})
}

func TestLiveCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t)
		ctx, cancel := context.WithCancel(t.Context())
		api.fault = func(c call) error {
			cancel()
			<-c.Context().Done()
			return nil
		}
		for _, count := range []int{3, 30} {
			live, err := api.client().Live(ctx, objects(t, many(count, "a")...))
			if !errors.Is(err, context.Canceled) || errors.As(err, new(ObjectError)) || live != nil {
				t.Errorf("got %v, %v, which is no object's fault", live, err)
			}
		}
		if n := api.count("get") + api.count("list"); n > 3 {
			t.Errorf("%d requests", n)
		}
	})
}

// TestLivePlayed reads by the objects' own clients where there is no getter.
func TestLivePlayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t)
		api.have(many(10, "a")...)
		config := rest.Config{Host: "http://api", Transport: api, APIPath: "/api"}
		config.GroupVersion = &schema.GroupVersion{Version: "v1"}
		config.NegotiatedSerializer = resource.UnstructuredPlusDefaultContentConfig().NegotiatedSerializer
		client, err := rest.RESTClientFor(&config)
		if err != nil {
			t.Fatal(err)
		}
		list := objects(t, many(12, "a")...)
		for _, info := range list {
			info.Client = client
		}
		live, err := New(&kube.Client{}, nil, nil).Live(t.Context(), list)
		if err != nil || len(live) != 10 || api.count("list") != 0 {
			t.Errorf("found %d, %v, with %d lists", len(live), err, api.count("list"))
		}
		api.fault = forbidden
		if _, err := New(&kube.Client{}, nil, nil).Live(t.Context(), list); err == nil || !strings.Contains(err.Error(), `ConfigMap "a-0" in namespace "ns"`) {
			t.Errorf("got %v", err)
		}
	})
}
