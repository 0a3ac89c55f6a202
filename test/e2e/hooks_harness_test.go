// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/test/cluster"
)

// hookID is the annotation by which hooks are told apart; the pods of a Job do not
// bear it.
const hookID = "e2e/hook"

// hookSpec is a hook of a test's chart.
type hookSpec struct {
	// kind is a Pod, unless it says otherwise: a Job takes a second longer, which its
	// controller waits.
	kind, name string
	// id tells the hook apart in plans and in the record; by default it is the name.
	// That of a Secret has to be, the record has nothing else of it.
	id string
	// where is its namespace, if it names one.
	where string
	// events are those of helm.sh/hook: pre-install, unless they say otherwise.
	events string
	weight int
	// free is a Job or Pod that does not wait for its gate.
	free bool
	// more are other annotations, lines of YAML; play are those of its pods.
	more, play []string
}

// hookKinds are the kinds of hooks that are not waited for, with their apiVersion
// and what they need besides metadata.
var hookKinds = map[string][2]string{
	"NetworkPolicy":         {"networking.k8s.io/v1", "spec: {podSelector: {}}\n"},
	"PodDisruptionBudget":   {"policy/v1", "spec: {maxUnavailable: 1, selector: {matchLabels: {app: none}}}\n"},
	"ServiceAccount":        {"v1", ""},
	"Secret":                {"v1", "stringData: {a: b}\n"},
	"ConfigMap":             {"v1", "data: {a: b}\n"},
	"PersistentVolumeClaim": {"v1", "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}\n"},
	"Role":                  {"rbac.authorization.k8s.io/v1", "rules: []\n"},
	"RoleBinding":           {"rbac.authorization.k8s.io/v1", "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: none}\n"},
	"Service":               {"v1", "spec: {ports: [{port: 80}]}\n"},
	"Deployment":            {"apps/v1", "spec: {replicas: 0, selector: {matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: i}]}}}\n"},
	"Ingress":               {"networking.k8s.io/v1", "spec: {defaultBackend: {service: {name: none, port: {number: 80}}}}\n"},
}

// waited is whether Helm waits for the hook.
func (s hookSpec) waited() bool { return s.kind == "" || s.kind == "Job" || s.kind == "Pod" }

func (s hookSpec) key() string {
	if s.id != "" {
		return s.id
	}
	return s.name
}

// manifest is the hook as it stands in a template.
func (s hookSpec) manifest() string {
	if s.kind == "" {
		s.kind = "Pod"
	}
	if s.events == "" {
		s.events = "pre-install"
	}
	annotations := append([]string{
		hookID + `: "` + s.key() + `"`, `helm.sh/hook: "` + s.events + `"`, fmt.Sprintf(`helm.sh/hook-weight: "%d"`, s.weight),
	}, s.more...)
	apiVersion, body := hookKinds[s.kind][0], hookKinds[s.kind][1]
	pod := "{restartPolicy: Never, containers: [{name: c, image: i}]"
	if !s.free {
		pod += ", volumes: [{name: gate, configMap: {name: \"" + gateOf(s.key()) + "\"}}]"
	}
	pod += "}"
	switch s.kind {
	case "Job":
		apiVersion, body = "batch/v1", "spec:\n  backoffLimit: 0\n  template:\n    metadata: "+annotated("labels: {app: hook}", s.play)+"    spec: "+pod+"\n"
	case "Pod":
		apiVersion, body = "v1", "spec: "+pod+"\n"
		annotations = append(annotations, s.play...)
	}
	metadata := `name: "` + s.name + `"`
	if s.where != "" {
		metadata += `, namespace: "` + s.where + `"`
	}
	return "---\napiVersion: " + apiVersion + "\nkind: " + s.kind + "\nmetadata: " + annotated(metadata, annotations) + body
}

// hookedChart is a chart of hooks.
type hookedChart struct {
	name string
	// api is its apiVersion: v2, unless it says otherwise.
	api string
	// more are more lines of its Chart.yaml, such as how its hooks run.
	more  string
	hooks []hookSpec
	// extra are manifests of its template besides the hooks.
	extra string
	subs  []hookedChart
}

// write writes the chart and returns its folder.
func (c hookedChart) write(tb testing.TB) string {
	tb.Helper()
	files := map[string]string{}
	c.files("", files)
	return writeChart(tb, files)
}

func (c hookedChart) files(dir string, into map[string]string) {
	if c.api == "" {
		c.api = "v2"
	}
	into[dir+"Chart.yaml"] = "apiVersion: " + c.api + "\nname: " + c.name + "\nversion: 0.1.0\n" + c.more
	text := c.extra
	for _, s := range c.hooks {
		text += s.manifest()
	}
	into[dir+"templates/all.yaml"] = text
	for _, sub := range c.subs {
		sub.files(dir+"charts/"+sub.name+"/", into)
	}
}

func gateOf(id string) string { return "gate-" + id }

// hookRun is one run of a hook in the server's record.
type hookRun struct {
	// id is that of the hook; its second run is named id#2.
	id string
	// object is its "Kind/name".
	object string
	// created is when the request to create it came in.
	created time.Time
	// ended is when the request came in by which it completed or failed; zero if
	// none did. For kinds that are not waited for it is created.
	ended  time.Time
	failed bool
}

// recordedHook is a hook as the server stored it.
type recordedHook struct {
	Metadata metav1.ObjectMeta
	Status   struct {
		Phase      string
		Conditions []struct{ Type, Status string }
	}
}

// ended is whether a Job or Pod has completed or failed.
func (o recordedHook) ended() (ended, failed bool) {
	for _, c := range o.Status.Conditions {
		if (c.Type == "Complete" || c.Type == "Failed") && c.Status == "True" {
			return true, c.Type == "Failed"
		}
	}
	return o.Status.Phase == "Succeeded" || o.Status.Phase == "Failed", o.Status.Phase == "Failed"
}

// readRuns reads what the server recorded about the hooks that Helm, ours or
// stock's, created in the namespace since h.from, in the order of their creation.
func (h *helm) readRuns(tb testing.TB) []*hookRun {
	tb.Helper()
	var runs []*hookRun
	objects := map[types.UID]*hookRun{}
	events := slices.DeleteFunc(h.cluster.AuditIn(tb, h.namespace), func(e cluster.Event) bool { return e.Received.Before(h.from) })
	slices.SortStableFunc(events, func(a, b cluster.Event) int { return a.Received.Compare(b.Received) })
	for _, e := range events {
		kind := kinds[e.Resource]
		if kind == "" || e.Stage != cluster.StageComplete || e.Code >= 300 ||
			e.Subresource != "" && e.Subresource != "status" {
			continue
		}
		var stored recordedHook
		if len(e.Response) > 0 && e.Verb != "delete" {
			if err := json.Unmarshal(e.Response, &stored); err != nil {
				tb.Fatalf("%s %s: %v", e.Verb, e.URI, err)
			}
		}
		id := stored.Metadata.Annotations[hookID]
		if kind == "Secret" && !isReleaseSecret(kind+"/"+e.Name) {
			id = e.Name
		}
		switch r := objects[stored.Metadata.UID]; {
		case e.Verb == "create" && e.Subresource == "" && id != "" && strings.HasPrefix(e.UserAgent, "Helm/"):
			r := &hookRun{id: id, object: kind + "/" + e.Name, created: e.Received}
			if kind == "Job" || kind == "Pod" {
				objects[stored.Metadata.UID] = r
			} else {
				r.ended = r.created
			}
			runs = append(runs, r)
		case r != nil && r.ended.IsZero():
			if ended, failed := stored.ended(); ended {
				r.ended, r.failed = e.Received, failed
			}
		}
	}
	count := map[string]int{}
	for _, r := range runs {
		r.id = numbered(r.id, count)
	}
	return runs
}

// numbered is the name of a run of a hook.
func numbered(id string, count map[string]int) string {
	count[id]++
	if count[id] > 1 {
		return fmt.Sprintf("%s#%d", id, count[id])
	}
	return id
}

// open opens gates: the hooks with these ids complete. A gate may be opened before
// there is a hook, and more than once.
func (h *helm) open(tb testing.TB, ids ...string) {
	tb.Helper()
	for _, id := range ids {
		gate := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: gateOf(id), Labels: map[string]string{"e2e": "gate"}}}
		_, err := h.cluster.Client().CoreV1().ConfigMaps(h.namespace).Create(tb.Context(), gate, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			tb.Fatal(err)
		}
	}
}

// closeGates closes all gates.
func (h *helm) closeGates(tb testing.TB) {
	tb.Helper()
	err := h.cluster.Client().CoreV1().ConfigMaps(h.namespace).DeleteCollection(tb.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "e2e=gate"})
	if err != nil {
		tb.Fatal(err)
	}
}
