// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

func gateOf(id string) string { return "gate-" + id }

// hookRun is one run of a hook, from the audit log.
type hookRun struct {
	// id is the ID of the hook (see hookID); for its second run, it is followed by #2.
	id string
	// object is the "Kind/name" of the hook.
	object string
	// created is the time at which the create request was received.
	created time.Time
	// ended is the time of the request that recorded that the hook completed or failed, or
	// zero if there was none. For kinds that Helm does not wait for, it equals created.
	ended  time.Time
	failed bool
}

// recordedHook contains the fields of a stored hook that the tests need.
type recordedHook struct {
	Metadata metav1.ObjectMeta
	Status   struct {
		Phase      string
		Conditions []struct{ Type, Status string }
	}
}

// ended reports whether a Job or Pod has completed or failed.
func (o recordedHook) ended() (ended, failed bool) {
	for _, c := range o.Status.Conditions {
		if (c.Type == "Complete" || c.Type == "Failed") && c.Status == "True" {
			return true, c.Type == "Failed"
		}
	}
	return o.Status.Phase == "Succeeded" || o.Status.Phase == "Failed", o.Status.Phase == "Failed"
}

// recordedRuns returns the runs of the hooks that Ordered Helm or stock Helm created in the
// namespace since h.Started, in the order of their creation. It reads the audit log.
func recordedRuns(tb testing.TB, h *harness.Helm) []*hookRun {
	tb.Helper()
	var runs []*hookRun
	objects := map[types.UID]*hookRun{}
	events := slices.DeleteFunc(h.Cluster.AuditIn(tb, h.Namespace), func(e cluster.Event) bool { return e.Received.Before(h.Started) })
	slices.SortStableFunc(events, func(a, b cluster.Event) int { return a.Received.Compare(b.Received) })
	for _, e := range events {
		kind := harness.Kinds[e.Resource]
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
		id := stored.Metadata.Annotations[charts.IDAnnotation]
		if kind == "Secret" && !harness.IsReleaseSecret(kind+"/"+e.Name) {
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
		r.id = runID(r.id, count)
	}
	return runs
}

// runID counts a run of hook id, and returns the ID of the run: id for the first run, id#2 for
// the second.
func runID(id string, count map[string]int) string {
	count[id]++
	if count[id] > 1 {
		return fmt.Sprintf("%s#%d", id, count[id])
	}
	return id
}

// closeGates deletes the ConfigMaps that are the gates of hooks.
func closeGates(tb testing.TB, h *harness.Helm) {
	tb.Helper()
	err := h.Cluster.Client().CoreV1().ConfigMaps(h.Namespace).DeleteCollection(tb.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "e2e=gate"})
	harness.NoError(tb, err)
}

// ungated is the value of charts.Object.Gate for a hook that does not wait for a gate.
const ungated = "none"

// writeGated writes a chart whose hooks each wait for their own gate, and returns its
// directory. By default, the hooks are Pods of the event pre-install.
func writeGated(tb testing.TB, c charts.Chart) string {
	tb.Helper()
	return withGates(c).Write(tb)
}

// withGates returns a copy of the chart whose hooks have gates and the defaults of writeGated.
func withGates(c charts.Chart) charts.Chart {
	if c.APIVersion == "" {
		c.APIVersion = "v2"
	}
	c.Objects = slices.Clone(c.Objects)
	for i, o := range c.Objects {
		o.ID = hookID(o)
		switch {
		case o.Gate == ungated:
			o.Gate = ""
		case isWaited(o):
			o.Gate = gateOf(o.ID)
		}
		if o.Kind == "" {
			o.Kind = "Pod"
		}
		if o.Kind == "Deployment" {
			o.Spec = []string{"replicas: 0"}
		}
		if o.Hook == "" {
			o.Hook = "pre-install"
		}
		c.Objects[i] = o
	}
	c.Subcharts = slices.Clone(c.Subcharts)
	for i, sub := range c.Subcharts {
		c.Subcharts[i] = withGates(sub)
	}
	return c
}

// isWaited reports whether Helm waits for a hook.
func isWaited(o charts.Object) bool { return o.Kind == "" || o.Kind == "Job" || o.Kind == "Pod" }

// hookID returns the ID by which a hook is found in plans and in the audit log: its field ID,
// or its name if that is empty. The ID of a Secret must be its name, because the audit log
// contains nothing else about it.
func hookID(o charts.Object) string { return cmp.Or(o.ID, o.Name) }
