// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// allButWatch returns all verbs that an operation on a release uses, except watch.
func allButWatch() []string { return []string{"get", "list", "create", "update", "patch", "delete"} }

// deploymentAfter returns a Deployment in a layer of the same name, which depends on the layer
// before, unless that is empty.
func deploymentAfter(name, before string) charts.Object {
	return charts.Object{Kind: "Deployment", Name: name, Layer: name, DependsOn: before}
}

// TestWatchForbidden checks that Helm polls resources that it is not allowed to watch, and
// prints that once for each kind.
func TestWatchForbidden(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	second := charts.Pod("second", "second")
	second.DependsOn = "first"
	chart := charts.Write(t, charts.Pod("first", "first", "devcluster/after: 1s"), second,
		deploymentAfter("third", "second"), deploymentAfter("fourth", "third"), charts.Last("fourth"))
	r := h.MustRun(append(h.Grant(t, allButWatch()...), "install", "rel", chart, "--wait=ordered", "--timeout", "1m")...)
	h.ExpectReadyBefore(t, r, "Pod/first", "Pod/second")
	h.ExpectReadyBefore(t, r, "Deployment/third", "Deployment/fourth")
	h.ExpectReadyBefore(t, r, "Deployment/fourth", "ConfigMap/last")
	for resource, name := range map[string]string{"pods": "pods", "deployments": "deployments.apps"} {
		notice := "cannot watch " + name + ` in namespace "` + h.Namespace + `", reading every 2s instead`
		if n := strings.Count(r.Stderr, notice); n != 1 {
			t.Errorf("%q is said %d times, want once:\n%s", notice, n, r.Stderr)
		}
		asked := requestsFor(t, h, resource)
		if n := countVerb(asked, "watch"); n != 1 {
			t.Errorf("%d watches of %s were tried, want 1", n, resource)
		}
		if n := countVerb(asked, "get"); n < 3 { // one for each to check whether it exists, and at least one to wait
			t.Errorf("only %d reads of %s", n, resource)
		}
	}
}

const claimed = `---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
  annotations: {helm.sh/layer: storage}
spec:
  storageClassName: wait
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Service
metadata:
  name: app
  annotations: {helm.sh/layer: storage}
spec: {type: LoadBalancer, ports: [{port: 80}]}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: prepare
  annotations: {helm.sh/layer: prepare, helm.sh/depends-on/layers: storage}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i}]
---
apiVersion: v1
kind: Pod
metadata:
  name: app
  annotations: {helm.sh/layer: app, helm.sh/depends-on/layers: prepare}
spec:
  containers: [{name: c, image: i}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: last
  annotations: {helm.sh/layer: last, helm.sh/depends-on/layers: app}
`

// TestNamespacedPermissions checks that a user who has permissions only in the namespace of
// the release can install in order.
func TestNamespacedPermissions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		chart func(testing.TB) string
		// denied contains the resources for which Helm may send a request that is denied.
		denied []string
	}{
		{name: "shop", chart: func(tb testing.TB) string { tb.Helper(); return harness.ExampleChart(tb, "shop") }},
		{
			name:   "claim that waits for its first consumer",
			chart:  func(tb testing.TB) string { tb.Helper(); return charts.WriteTemplate(tb, claimed) },
			denied: []string{"storageclasses"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			p := h.UseProxy(t)
			as := h.Grant(t, append(allButWatch(), "watch")...)
			o := &harness.Order{}
			chart := tt.chart(t)
			o.AddManifest(t, h.MustRun("template", "rel", chart).Stdout)

			h.MustRun(append(as, "install", "rel", chart, "--wait=ordered", "--timeout", "2m", "--readiness-timeout", "1m")...)
			recorded := h.ReadTrace(t)
			for _, x := range o.Objects {
				if recorded.Created(x.String()).IsZero() {
					t.Errorf("%s was not created", x)
				}
			}
			checkNamespaces(t, h.Namespace, p.Requests(), tt.denied)
			h.MustRun(append(as, "uninstall", "rel", "--timeout", "1m")...)
			checkNamespaces(t, h.Namespace, p.Requests(), tt.denied)
		})
	}
}

// checkNamespaces checks that all requests were for the namespace, or allowed to every user,
// and that an object of each resource in mayBeDenied was read once. On a busy machine, Helm also lists
// them, to find out why an object is not ready yet.
func checkNamespaces(tb testing.TB, namespace string, requests []fault.Request, mayBeDenied []string) {
	tb.Helper()
	denied := map[string]int{}
	for _, r := range requests {
		everybodys := r.Resource == "" || r.Resource == "selfsubjectaccessreviews"
		switch {
		case r.Code == http.StatusForbidden && slices.Contains(mayBeDenied, r.Resource):
			if r.Verb == "get" {
				denied[r.Resource]++
			}
		case r.Code == http.StatusForbidden:
			tb.Errorf("%s %s was denied", r.Verb, r.Path)
		case r.Namespace != namespace && !everybodys:
			tb.Errorf("%s %s is outside the namespace", r.Verb, r.Path)
		}
	}
	for _, resource := range mayBeDenied {
		if denied[resource] != 1 {
			tb.Errorf("%s were read %d times in vain, want once", resource, denied[resource])
		}
	}
}
