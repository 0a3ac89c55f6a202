// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStaleReads(t *testing.T) {
	const cached = podsPath + "?resourceVersion=0"
	times := func(n int, target string) (all []string) {
		for range n {
			all = append(all, target)
		}
		return all
	}
	for _, tt := range []struct {
		name    string
		rule    Rule
		targets []string
		want    string // the numbers in the server's answers
	}{
		{"one before", StaleReads(1, 0, nil), times(4, cached), "1 1 2 3 "},
		{"three before, or the oldest", StaleReads(3, 0, nil), times(6, cached), "1 1 1 1 2 3 "},
		{"none before", StaleReads(0, 0, nil), times(3, cached), "1 2 3 "},
		{"negative", StaleReads(-1, 0, nil), times(3, cached), "1 2 3 "},
		{"not older than a minute", StaleReads(9, time.Minute, nil), times(5, cached), "1 1 1 2 3 "}, // one each half minute
		{"consistent", StaleReads(1, 0, nil), times(3, podsPath), "1 2 3 "},
		{"consistent, by choice", StaleReads(1, 0, Any), times(3, podsPath), "1 1 2 "},
		{"not older than a version", StaleReads(1, 0, nil), times(3, podsPath+"?resourceVersion=5"), "1 2 3 "},
		{"one object", StaleReads(1, 0, Any), times(3, podsPath+"/a"), "1 1 2 "},
		{"no resource", StaleReads(1, 0, Any), times(3, "/apis"), "1 1 2 "},
		{"different reads", StaleReads(1, 0, Any), []string{podsPath, podsPath + "/a", podsPath, podsPath + "/a"}, "1 2 1 2 "},
		{"remembers what it does not choose", StaleReads(1, 0, second()), times(4, podsPath), "1 1 3 4 "},
		{"watch", StaleReads(1, 0, Any), times(2, cached+"&watch=1"), "- - "},
		{"followed log", StaleReads(1, 0, Any), times(2, podsPath+"/a/log?follow=true"), "- - "},
		{"not found", StaleReads(1, 0, Any), times(3, podsPath+"/absent?code=404"), "404/1 404/1 404/2 "},
		{"errors are the present ones", StaleReads(1, 0, Any), times(3, podsPath+"?code=500"), "500/1 500/2 500/3 "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, got := 0, ""
				server := func(w http.ResponseWriter, r *http.Request) {
					n++
					w.Header().Set("Number", fmt.Sprint(n))
					switch r.URL.Query().Get("code") {
					case "404":
						w.WriteHeader(http.StatusNotFound)
						fmt.Fprint(w, "404/")
					case "500":
						w.WriteHeader(http.StatusInternalServerError)
						fmt.Fprint(w, "500/")
					}
					fmt.Fprint(w, n)
				}
				for _, target := range tt.targets {
					w, answered, _ := call(t.Context(), tt.rule, server, "GET", target)
					switch {
					case !answered:
						got += "-"
					case w.Code != http.StatusOK && fmt.Sprintf("%d/%s", w.Code, w.Header().Get("Number")) != w.Body.String():
						t.Errorf("answered %d, number %s, with %s", w.Code, w.Header().Get("Number"), w.Body)
					default:
						got += w.Body.String()
					}
					got += " "
					time.Sleep(30 * time.Second)
				}
				if got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// second returns a function that matches only the second request.
func second() func(Request) bool {
	n := 0
	return func(Request) bool { n++; return n == 2 }
}

func TestStaleReadsIgnoresWrites(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		if _, answered, _ := call(t.Context(), StaleReads(1, 0, Any), nil, method, podsPath+"/a"); answered {
			t.Errorf("%s was answered", method)
		}
	}
}

// TestStaleReadsRemovesOldest checks that the oldest requests are deleted if there are too
// many.
func TestStaleReadsRemovesOldest(t *testing.T) {
	rule := StaleReads(1, 0, Any)
	n := 0
	get := func(i int) string {
		w, _, _ := call(t.Context(), rule, func(w http.ResponseWriter, _ *http.Request) { n++; fmt.Fprint(w, n) },
			"GET", fmt.Sprintf("%s/%d", podsPath, i))
		return w.Body.String()
	}
	for i := range staleKeep + 1 {
		get(i)
	}
	if got := get(staleKeep); got != fmt.Sprint(staleKeep+1) {
		t.Errorf("the last is answered with %s", got)
	}
	if got := get(0); got != fmt.Sprint(staleKeep+3) {
		t.Errorf("the first is answered with %s", got)
	}
}

// TestStaleReadsWithClient checks StaleReads with a Kubernetes client and a proxy.
func TestStaleReadsWithClient(t *testing.T) {
	noLeaks(t)
	n := 0
	p := newProxyTo(t, func(w http.ResponseWriter, _ *http.Request) {
		n++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[]}`, n)
	})
	p.Intercept(StaleReads(1, 0, nil))
	pods := podsOf(t, p)
	for _, tt := range []struct{ version, want string }{{"0", "1"}, {"0", "1"}, {"", "3"}, {"0", "2"}, {"", "5"}} {
		list, err := pods.List(t.Context(), metav1.ListOptions{ResourceVersion: tt.version})
		if err != nil {
			t.Fatal(err)
		}
		if got := list.GetResourceVersion(); got != tt.want {
			t.Errorf("a list of version %q is of %s, want %s", tt.version, got, tt.want)
		}
	}
}
