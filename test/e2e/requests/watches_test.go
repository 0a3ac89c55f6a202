// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

// TestNoReadsAfterCreation checks that Helm sends only a create request, and at most one read
// before it, for each object that is ready as soon as it exists.
func TestNoReadsAfterCreation(t *testing.T) {
	t.Parallel()
	const n = 20
	h := harness.New(t)
	var objects []charts.Object
	for i := range n {
		o := charts.Object{Name: fmt.Sprintf("c%d", i), Layer: fmt.Sprintf("l%d", i)}
		if i > 0 {
			o.DependsOn = fmt.Sprintf("l%d", i-1)
		}
		objects = append(objects, o)
	}
	h.MustRun("install", "rel", charts.Write(t, objects...), "--wait=ordered")
	writing := false
	counts := map[string]int{}
	for _, e := range requestsFor(t, h, "configmaps") {
		counts[e.Verb]++
		writing = writing || e.Verb == "create"
		if writing && e.Verb != "create" {
			t.Errorf("%s %s, though all that follows the first create is known from the creates", e.Verb, e.URI)
		}
	}
	if counts["create"] != n || counts["get"] > n || len(counts) > 2 {
		t.Errorf("requests by verb: %v, want %d creates and at most one get for each", counts, n)
	}
}

// TestWatchStartsAtCreatedVersion checks that Helm watches each kind once, from the resource
// version that the first create request returned, and does not list it. On a slow machine,
// Helm looks for causes of the delay meanwhile, and lists the pods of a Deployment by its
// selector. These lists do not count.
func TestWatchStartsAtCreatedVersion(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	var objects []charts.Object
	before := ""
	for _, kind := range []string{"Deployment", "Pod"} {
		for i := range 5 {
			name := fmt.Sprintf("%c%d", kind[0]|0x20, i)
			objects = append(objects, charts.Object{Kind: kind, Name: name, Layer: name, DependsOn: before})
			before = name
		}
	}
	h.MustRun("install", "rel", charts.Write(t, append(objects, charts.Last(before))...), "--wait=ordered")
	for _, resource := range []string{"deployments", "pods"} {
		asked := slices.DeleteFunc(requestsFor(t, h, resource), func(e cluster.Event) bool {
			return e.Verb == "list" && strings.Contains(e.URI, "labelSelector=")
		})
		if lists, watches := countVerb(asked, "list"), countVerb(asked, "watch"); lists != 0 || watches != 1 {
			t.Errorf("%d lists and %d watches of %s, want 0 and 1", lists, watches, resource)
		}
		written := ""
		for _, e := range asked {
			switch e.Verb {
			case "create":
				var created metav1.PartialObjectMetadata
				harness.NoError(t, e.DecodeResponse(&created))
				if written == "" {
					written = created.ResourceVersion
				}
			case "watch":
				uri, err := url.ParseRequestURI(e.URI)
				harness.NoError(t, err)
				if from := uri.Query().Get("resourceVersion"); from == "" || from != written {
					t.Errorf("%s are watched from %q, want %q, which the first create returned", resource, from, written)
				}
			}
		}
	}
}

// TestOneWatchPerKind checks that Helm waits for many objects of a kind with a single watch.
func TestOneWatchPerKind(t *testing.T) {
	t.Parallel()
	const n = 40
	h := harness.New(t)
	objects := []charts.Object{charts.Last("first")}
	for i := range n {
		objects = append(objects, charts.Pod(fmt.Sprintf("p%d", i), "first", "devcluster/after: 1s"))
	}
	h.ExpectReadyBefore(t, h.MustRun("install", "rel", charts.Write(t, objects...), "--wait=ordered", "--readiness-timeout", "1m"), "Pod/p0", "ConfigMap/last")
	asked := requestsFor(t, h, "pods")
	written := slices.IndexFunc(asked, func(e cluster.Event) bool { return e.Verb == "create" })
	if written < 0 {
		t.Fatal("no pod was created")
	}
	// Helm lists existing objects before the first write, but must not list them while it
	// waits. If a busy server ends the watch, Helm resumes it; watchesOf does not count that.
	if lists, watches := countVerb(asked[written:], "list"), watchesOf(t, h); lists != 0 || watches != 1 {
		t.Errorf("%d lists and %d watches of pods, want 0 and 1", lists, watches)
	}
}

// watchesOf counts the watches of pods that start at the resource version of a create response.
// It does not count watches that resume one that has ended, or that replace one in order to
// start at an earlier version, because a create response was late.
func watchesOf(tb testing.TB, h *harness.Helm) int {
	tb.Helper()
	written, watches, open, earliest := map[string]bool{}, 0, 0, uint64(math.MaxUint64)
	for _, e := range h.Cluster.Audit(tb) {
		if e.Namespace != h.Namespace || e.Resource != "pods" || !strings.HasPrefix(e.UserAgent, "Helm/") {
			continue
		}
		switch {
		case e.Verb == "create":
			var created metav1.PartialObjectMetadata
			harness.NoError(tb, e.DecodeResponse(&created))
			written[created.ResourceVersion] = true
		case e.Verb == "watch" && e.Stage == cluster.StageStarted:
			open++
			uri, err := url.ParseRequestURI(e.URI)
			harness.NoError(tb, err)
			from := uri.Query().Get("resourceVersion")
			if from != "" && !written[from] {
				continue
			}
			version, _ := strconv.ParseUint(from, 10, 64)
			if resumes := watches > 0 && open == 1; !resumes && (watches == 0 || version >= earliest) {
				watches++
			}
			earliest = min(earliest, version)
		case e.Verb == "watch" && e.Code == http.StatusOK:
			open--
		}
	}
	return watches
}

// TestPollingIsNotThrottled checks that the client does not limit the rate of requests if Helm
// is allowed neither to list nor to watch a few hundred objects, and must read each of them
// repeatedly.
func TestPollingIsNotThrottled(t *testing.T) {
	t.Parallel()
	harness.RequireSecrets(t, "with releases as objects, an install needs permission to list Secrets")
	const each, ready = 30, 210
	h := harness.New(t)
	var text strings.Builder
	for i := range each {
		text.WriteString(charts.Pod(fmt.Sprintf("p%d", i), "first", "devcluster/after: 1s").Manifest())
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: v%d\n  annotations: {helm.sh/layer: first}\n"+
			"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n", i)
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: s%d\n  annotations: {helm.sh/layer: first}\n"+
			"spec: {type: LoadBalancer, ports: [{port: 80}]}\n", i)
	}
	for i := range ready {
		text.WriteString(charts.ConfigMap(fmt.Sprintf("c%d", i), "helm.sh/layer: first"))
	}
	as := h.Grant(t, "get", "create", "update", "patch", "delete")
	// At verbosity 3, the Kubernetes client logs every delay that its rate limit causes.
	r := h.Run(append(as, "install", "rel", charts.WriteTemplate(t, text.String()+charts.Last("first").Manifest()), "--wait=ordered",
		"--readiness-timeout", "1m", "--debug", "--v", "3")...)
	// A rate limit would delay hundreds of requests. The client logs the same message for a
	// few requests if the machine is busy.
	if held := strings.Count(r.Stderr, "client-side throttling"); held >= each {
		t.Errorf("%d requests were held back", held)
	}
	h.ExpectReadyBefore(t, r, "Pod/p0", "ConfigMap/last")
	if n := countVerb(requestsFor(t, h, "pods"), "get"); n < 2*each {
		t.Errorf("only %d reads of pods: the proof is empty", n)
	}
}
