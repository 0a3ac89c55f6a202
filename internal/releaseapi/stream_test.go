// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestEach reads ReleaseVersions from a server, one at a time and as a list, and expects the same.
func TestEach(t *testing.T) {
	version := func(name string) string {
		return `{"apiVersion":"helm.sh/v1alpha1","kind":"ReleaseVersion","metadata":{"name":"` + name + `","namespace":"shop","resourceVersion":"7",` +
			`"managedFields":[{"manager":"helm","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]},"spec":{"releaseName":"web","revision":3},"status":{"phase":"deployed","order":"ordered"}}`
	}
	list := func(items string) string {
		return `{"apiVersion":"helm.sh/v1alpha1","kind":"ReleaseVersionList","metadata":{"resourceVersion":"9"},"items":` + items + `}`
	}
	for _, tt := range []struct {
		name, response string
		status         int
		want           []string
		check          func(error) bool
	}{
		{name: "none", response: list("[]"), status: http.StatusOK},
		{name: "two", response: list("[" + version("a") + "," + version("b") + "]"), status: http.StatusOK, want: []string{"a", "b"}},
		{name: "cut off", response: list("[" + version("a") + ",")[:300], status: http.StatusOK, check: func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		{name: "no list", response: `{"kind":"Status"}`, status: http.StatusOK, check: func(err error) bool { return errors.Is(err, errNoItems) }},
		{name: "no object", response: `[]`, status: http.StatusOK, check: func(err error) bool { return errors.Is(err, errNoItems) }},
		{
			name: "forbidden", response: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`, status: http.StatusForbidden,
			check: apierrors.IsForbidden,
		},
		{name: "no definitions", response: "404 page not found", status: http.StatusNotFound, check: func(err error) bool {
			definitions, _ := errors.AsType[*DefinitionsError](err)
			return definitions != nil && definitions.Problem == ProblemMissing
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var paths []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				paths = append(paths, r.URL.String())
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.response)
			}))
			defer server.Close()
			config := &rest.Config{Host: server.URL}
			objects, err := dynamic.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			kube, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			client := NewClient(objects, "shop")
			for name, raw := range map[string]rest.Interface{"one at a time": kube.Discovery().RESTClient(), "as a list": nil} {
				if raw == nil && tt.check != nil && tt.status == http.StatusOK {
					continue // the errors of another decoder
				}
				var got []string
				err := client.Versions.Each(t.Context(), raw, VersionsOf("web"), func(v *ReleaseVersion) {
					if v.Spec.Revision != 3 || v.Status.Order != "ordered" || v.Kind != ReleaseVersionKind || raw != nil && (v.ResourceVersion != "" || v.ManagedFields != nil) {
						t.Errorf("%s: got %+v", name, v)
					}
					got = append(got, v.Name)
				})
				if tt.check == nil && (err != nil || !slices.Equal(got, tt.want)) || tt.check != nil && !tt.check(err) {
					t.Errorf("%s: got %q, %v", name, got, err)
				}
			}
			for _, path := range paths {
				if path != "/apis/helm.sh/v1alpha1/namespaces/shop/releaseversions?labelSelector=helm.sh%2Frelease%3Dweb" {
					t.Errorf("the request was for %s", path)
				}
			}
		})
	}
}

// FuzzDecodeItems checks that any response is decoded completely or rejected.
func FuzzDecodeItems(f *testing.F) {
	for _, text := range []string{`{"items":[]}`, `{"a":{"items":[1]},"items":[{"b":[]},{}]}`, `{"items":null}`, `{"items":[`, `[]`, ``, `{"items":[]}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		count := 0
		err := decodeItems(json.NewDecoder(strings.NewReader(text)), func(d *json.Decoder) error {
			count++
			var skipped json.RawMessage
			return d.Decode(&skipped)
		})
		if err != nil {
			return
		}
		var list map[string]json.RawMessage // a struct would ignore the case of keys
		var items []json.RawMessage
		if err := errors.Join(json.NewDecoder(strings.NewReader(text)).Decode(&list), json.Unmarshal(list["items"], &items)); err != nil {
			t.Errorf("%q is accepted, but not a list: %v", text, err)
		}
		if count < len(items) {
			t.Errorf("%q: %d objects were decoded, want %d", text, count, len(items))
		}
	})
}
