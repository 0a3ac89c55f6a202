// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/test/chartserver"
	"github.com/ordered-helm/helm/test/harness"
)

// TestCredentialsOfRepository checks that the credentials for a repository are not sent to another server, on which its
// index says that a package is.
//   - "Credentials for a repository are sent only to its scheme, host and port"
func TestCredentialsOfRepository(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	folder := t.TempDir()
	publish(t, folder, chartFiles("1.0.0", ""))
	packages := chartserver.Start(t, folder, chartserver.Options{})
	repository := chartserver.Start(t, folder, chartserver.Options{Username: "anna", Password: "s3cret-word"})
	index, err := os.ReadFile(filepath.Join(folder, "index.yaml"))
	harness.NoError(t, err)
	repository.Answer("/index.yaml", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.ReplaceAll(string(index), "- app-1.0.0.tgz", "- "+packages.URL+"/app-1.0.0.tgz"))
	})
	e.createSecret(t, e.Namespace, "credentials", map[string]string{"username": "anna", "password": "s3cret-word"})
	e.request(t, "shop", "  chart: {repository: "+repository.URL+", name: app, credentialsSecret: credentials}")
	e.awaitReady(t, "shop", "Deployed")
	requests := packages.Requests()
	if len(requests) == 0 {
		t.Fatal("the package was not downloaded from the other server")
	}
	for _, r := range requests {
		if r.Username != "" || r.Header.Get("Authorization") != "" {
			t.Errorf("%s %s has the credentials of the repository", r.Method, r.Path)
		}
	}
}

// TestProxy downloads a chart through the proxy in the environment of the controller.
//   - "The proxy variables of the environment (HTTPS_PROXY) are used"
func TestProxy(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	publish(t, folder, chartFiles("1.0.0", ""))
	proxy := chartserver.Start(t, folder, chartserver.Options{})
	e := newEnv(t)
	e.Env = append(e.Env, "HTTP_PROXY="+proxy.URL)
	e.startController(t)
	e.request(t, "shop", "  chart: {url: http://charts.example.com/app-1.0.0.tgz}")
	e.awaitReady(t, "shop", "Deployed")
	if !slices.ContainsFunc(proxy.Requests(), func(r chartserver.Request) bool { return r.Path == "/app-1.0.0.tgz" }) {
		t.Errorf("the proxy got the requests %v", proxy.Requests())
	}
}

// TestChangedInputs changes the objects with the values and the chart of HelmRequests. With an interval, the change is
// deployed by itself, otherwise when the annotation asks for it.
//   - "reads the Secrets and ConfigMaps of valuesFrom, and of the chart, again"
//   - "Changed Secrets and ConfigMaps are noticed at the next comparison, not immediately"
func TestChangedInputs(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	values := func(value string) {
		patch := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"values"},"data":{"values.yaml":"v: ` + value + `"}}`
		_, err := e.Cluster.Client().CoreV1().ConfigMaps(e.Namespace).
			Patch(t.Context(), "values", types.ApplyPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "test"})
		harness.NoError(t, err)
	}
	values("one")
	chart := e.storeChart(t, "chart", chartFiles("1.0.0", ""))
	from := "  valuesFrom: [{kind: ConfigMap, name: values}]\n"
	e.request(t, "regular", chart+from+"  interval: 10s")
	e.request(t, "asked", chart+from)
	e.awaitReady(t, "regular", "Deployed")
	e.awaitReady(t, "asked", "Deployed")
	values("two")
	harness.Eventually(t, "the new value is deployed", func() bool { return e.value(t, "regular") == "two" })
	e.expectHistory(t, "asked", "deployed")
	e.annotate(t, "asked", "1")
	harness.Eventually(t, "the new value is deployed", func() bool { return e.value(t, "asked") == "two" })
	e.storeChart(t, "chart", chartFiles("1.0.1", ""))
	harness.Eventually(t, "the new chart is deployed", func() bool { return e.history(t, "regular") == "superseded superseded deployed" })
	harness.ExpectContains(t, messageOf(e.awaitReady(t, "regular", "Deployed")), "app-1.0.1")
	e.expectHistory(t, "asked", "superseded deployed")
}

// TestPinnedVersion publishes a new version of a chart whose version is pinned.
func TestPinnedVersion(t *testing.T) {
	t.Parallel()
	e, _ := start(t)
	folder := t.TempDir()
	publish(t, folder, chartFiles("1.0.0", ""))
	s := chartserver.Start(t, folder, chartserver.Options{})
	e.request(t, "shop", "  chart: {repository: "+s.URL+", name: app, version: 1.0.0}")
	e.awaitReady(t, "shop", "Deployed")
	publish(t, folder, chartFiles("1.0.0", ""), chartFiles("1.1.0", ""))
	e.change(t, "shop", `{"values":{"v":"two"}}`)
	harness.ExpectContains(t, messageOf(e.awaitReady(t, "shop", "Deployed")), "revision 2", "app-1.0.0")
}
