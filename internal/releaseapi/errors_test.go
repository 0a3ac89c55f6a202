// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// clientOf returns a client of a server that gives the same response to all requests.
func clientOf(t *testing.T, code int, contentType, body string) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return NewClient(client, "shops")
}

// status returns the body of a failure.
func status(code int, reason, message string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code)
}

// TestErrors checks how the responses of an API server are told apart.
func TestErrors(t *testing.T) {
	const json = "application/json"
	for _, tt := range []struct {
		name, contentType, body string
		code                    int
		// problem is 0 if the error is not because of the definitions.
		problem Problem
		want    string
	}{
		{"no definitions", "text/plain; charset=utf-8", "404 page not found\n", 404, ProblemMissing, `Release shop: the cluster has no definition of releases.helm.sh: run "helm state init" to install it`},
		{"no object", json, status(404, "NotFound", `releases.helm.sh "shop" not found`), 404, 0, `create Release shop: releases.helm.sh "shop" not found`},
		{"no namespace", json, status(404, "NotFound", `namespaces "shops" not found`), 404, 0, `create Release shop: namespaces "shops" not found`},
		{"older definitions", json, status(400, "BadRequest", `Release in version "v1alpha1" cannot be handled as a Release: strict decoding error: unknown field "status.counts"`), 400, ProblemOlder, `the definition of releases.helm.sh in the cluster is older than this version of helm: run "helm state init"`},
		{"other bad request", json, status(400, "BadRequest", "no"), 400, 0, "create Release shop: no"},
		{"terminating definitions", json, status(403, "Forbidden", `releases.helm.sh "shop" is forbidden: create not allowed while custom resource definition is terminating`), 403, ProblemDeleting, `the definition of releases.helm.sh is being deleted`},
		{"no permission", json, status(403, "Forbidden", `releases.helm.sh is forbidden`), 403, 0, "create Release shop: releases.helm.sh is forbidden"},
		{"unavailable", "text/plain", "no backend", 503, 0, "create Release shop: the server is currently unable to handle the request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := clientOf(t, tt.code, tt.contentType, tt.body).Releases.Create(t.Context(), sampleRelease())
			problem, is := errors.AsType[*DefinitionsError](err)
			if is != (tt.problem != 0) || is && problem.Problem != tt.problem {
				t.Errorf("got %v, want problem %d", err, tt.problem)
			}
			if !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if reason := apierrors.ReasonForError(err); reason == "" {
				t.Errorf("%v does not wrap the response", err)
			}
		})
	}
}

// TestUpdatesThatLoseData checks that these updates are not sent.
func TestUpdatesThatLoseData(t *testing.T) {
	newer, unread := sampleRelease(), sampleRelease()
	newer.UnknownFields, newer.ResourceVersion = []string{"status.a", "status.b"}, "1"
	for want, r := range map[string]*Release{
		"Release shops/shop: it was written by a newer version of helm, and has fields that this version does not know (status.a, status.b): upgrade helm": newer,
		"update Release shops/shop: the update has no resourceVersion":                                                                                     unread,
	} {
		c := clientOf(t, 500, "application/json", status(500, "InternalError", "the request was sent"))
		if _, err := c.Releases.Update(t.Context(), r); fmt.Sprint(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestNewChart(t *testing.T) {
	long := strings.Repeat("ä", 2000)
	got := NewChart(&chart.Metadata{Name: long, Version: "1.0.0", AppVersion: long})
	if want := long[:2*1024]; got.Name != want || got.AppVersion != want || got.FullName != want+"-1.0.0" {
		t.Errorf("got %+v", got)
	}
	if got := NewChart(nil); got != (Chart{}) {
		t.Errorf("got %+v", got)
	}
}
