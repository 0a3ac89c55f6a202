// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/cluster"
)

// kinds are the kinds of the resources that the tests' charts use.
var kinds = map[string]string{
	"deployments": "Deployment", "statefulsets": "StatefulSet", "jobs": "Job", "pods": "Pod",
	"configmaps": "ConfigMap", "secrets": "Secret", "services": "Service", "serviceaccounts": "ServiceAccount",
	"roles": "Role", "rolebindings": "RoleBinding", "ingresses": "Ingress", "networkpolicies": "NetworkPolicy",
	"poddisruptionbudgets": "PodDisruptionBudget", "persistentvolumeclaims": "PersistentVolumeClaim",
	"horizontalpodautoscalers": "HorizontalPodAutoscaler",
	"daemonsets":               "DaemonSet",
}

// trace is every write to the objects of a namespace that the API server
// recorded, by "Kind/name", in the order in which the requests came in.
type trace map[string][]write

// write is one of them.
type write struct {
	verb     string
	received time.Time
	// byHelm is whether the client was Helm, ours or stock's.
	byHelm bool
	// stored is the object as it then was, and version says which one that is; the
	// log has neither for Secrets and deletions.
	stored  snapshot
	version int64
}

// readTrace reads what was recorded so far.
func (h *helm) readTrace(tb testing.TB) trace {
	tb.Helper()
	t := trace{}
	for _, e := range h.cluster.AuditIn(tb, h.namespace) {
		kind := kinds[e.Resource]
		if kind == "" || e.Stage != cluster.StageComplete || e.Code >= 300 ||
			e.Subresource != "" && e.Subresource != "status" || e.Verb == "get" || e.Verb == "list" || e.Verb == "watch" {
			continue
		}
		w := write{verb: e.Verb, received: e.Received, byHelm: strings.HasPrefix(e.UserAgent, "Helm/")}
		if e.Verb != "delete" && len(e.Response) > 0 {
			if err := json.Unmarshal(e.Response, &w.stored); err != nil {
				tb.Fatalf("%s %s: %v", e.Verb, e.URI, err)
			}
			w.version, _ = strconv.ParseInt(w.stored.Metadata.ResourceVersion, 10, 64) // 0 where there is none
		}
		name := e.Name
		if name == "" {
			name = w.stored.Metadata.Name
		}
		t[kind+"/"+name] = append(t[kind+"/"+name], w)
	}
	for _, writes := range t {
		slices.SortStableFunc(writes, func(a, b write) int { return a.received.Compare(b.received) })
	}
	return t
}

// since leaves out what was written before.
func (t trace) since(from time.Time) trace {
	later := trace{}
	for id, writes := range t {
		writes = slices.DeleteFunc(slices.Clone(writes), func(w write) bool { return w.received.Before(from) })
		if len(writes) > 0 {
			later[id] = writes
		}
	}
	return later
}

// helms are Helm's own writes of an object: all, or those with one of the verbs.
func (t trace) helms(id string, verbs ...string) []write {
	var list []write
	for _, w := range t[id] {
		if w.byHelm && (len(verbs) == 0 || slices.Contains(verbs, w.verb)) {
			list = append(list, w)
		}
	}
	return list
}

// touched lists, sorted, the objects that Helm wrote with one of the verbs, its
// own Secrets left out.
func (t trace) touched(verbs ...string) []string {
	ids := []string{}
	for id := range t {
		if !isReleaseSecret(id) && len(t.helms(id, verbs...)) > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func isReleaseSecret(id string) bool { return strings.HasPrefix(id, "Secret/sh.helm.release.v1.") }

// The verbs by which objects are changed.
var changing = []string{"create", "update", "patch"}

// readyBy says why an object does not count as ready, as it was last written by
// Helm, when a request came in at a time; nothing if it does.
func (t trace) readyBy(o object, at time.Time) string {
	written := t.helms(o.String(), changing...)
	if len(written) == 0 {
		return "was never written"
	}
	last := written[len(written)-1]
	if last.received.After(at) {
		return "was only written at " + last.received.String()
	}
	for _, w := range t[o.String()] {
		if w.verb != "delete" && w.version >= last.version && !w.received.Before(last.received) && !w.received.After(at) && w.stored.upToDate(o.kind) {
			return ""
		}
	}
	return "was not ready in its new version"
}

// created is when the request to create an object came in; zero if none did.
func (t trace) created(id string) time.Time {
	for _, w := range t[id] {
		if w.verb == "create" {
			return w.received
		}
	}
	return time.Time{}
}

// ready is when the first request came in by which the server stored an object in a
// state that counts as ready; zero if none did. Watchers may hear of it before the
// request is answered, but not before it came.
func (t trace) ready(id string) time.Time {
	kind, _, _ := strings.Cut(id, "/")
	for _, w := range t[id] {
		if w.verb != "delete" && w.stored.ready(kind) {
			return w.received
		}
	}
	return time.Time{}
}

// deleted is when the first request to delete an object came in, gone when the last
// write to it did before it was made anew, if it ever was: with that it is gone, be
// it another request to delete it or one that took away the last finalizer. Both
// are zero if nobody asked to delete it.
func (t trace) deleted(id string) (first, gone time.Time) {
	for _, w := range t[id] {
		switch {
		case w.verb == "delete" && first.IsZero():
			first, gone = w.received, w.received
		case first.IsZero():
		case w.verb == "create":
			return first, gone
		default:
			gone = w.received
		}
	}
	return first, gone
}

// podsGone is when the last pod of a workload was gone, which bears its name;
// zero if it had none.
func (t trace) podsGone(workload object) time.Time {
	var last time.Time
	switch workload.kind {
	case "Deployment", "StatefulSet", "Job":
	default:
		return last
	}
	for id := range t {
		if _, gone := t.deleted(id); strings.HasPrefix(id, "Pod/"+workload.name+"-") && gone.After(last) {
			last = gone
		}
	}
	return last
}

// snapshot is an object as the server stored it.
type snapshot struct {
	Metadata struct {
		Name            string
		Generation      int64
		ResourceVersion string
	}
	Spec struct {
		Replicas *int32
	}
	Status struct {
		ObservedGeneration int64
		Replicas           int32
		ReadyReplicas      int32
		AvailableReplicas  int32
		UpdatedReplicas    int32
		Phase              string
		Conditions         []struct{ Type, Status string }
	}
}

// ready is the tests' own idea of readiness, apart from the program's.
func (s snapshot) ready(kind string) bool {
	replicas := int32(1)
	if s.Spec.Replicas != nil {
		replicas = *s.Spec.Replicas
	}
	observed := s.Status.ObservedGeneration >= s.Metadata.Generation
	switch kind {
	case "Deployment":
		return observed && s.Status.AvailableReplicas >= replicas && s.Status.UpdatedReplicas >= replicas
	case "StatefulSet":
		return observed && s.Status.ReadyReplicas >= replicas
	case "Job":
		return s.condition("Complete")
	case "Pod":
		return s.condition("Ready") || s.Status.Phase == "Succeeded"
	case "PodDisruptionBudget":
		return observed
	case "PersistentVolumeClaim":
		return s.Status.Phase == "Bound"
	}
	return true
}

func (s snapshot) condition(kind string) bool {
	for _, c := range s.Status.Conditions {
		if c.Type == kind && c.Status == "True" {
			return true
		}
	}
	return false
}

// upToDate is ready, in the sense that nothing of an older version is left.
func (s snapshot) upToDate(kind string) bool {
	replicas := int32(1)
	if s.Spec.Replicas != nil {
		replicas = *s.Spec.Replicas
	}
	switch kind {
	case "Deployment":
		return s.ready(kind) && s.Status.Replicas <= replicas
	case "StatefulSet":
		return s.ready(kind) && s.Status.UpdatedReplicas >= replicas
	}
	return s.ready(kind)
}
