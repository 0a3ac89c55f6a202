// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/cluster"
)

// Kinds maps the resources in the tests' charts to their kinds.
var Kinds = map[string]string{
	"deployments": "Deployment", "statefulsets": "StatefulSet", "jobs": "Job", "pods": "Pod",
	"configmaps": "ConfigMap", "secrets": "Secret", "services": "Service", "serviceaccounts": "ServiceAccount",
	"roles": "Role", "rolebindings": "RoleBinding", "ingresses": "Ingress", "networkpolicies": "NetworkPolicy",
	"poddisruptionbudgets": "PodDisruptionBudget", "persistentvolumeclaims": "PersistentVolumeClaim",
	"horizontalpodautoscalers": "HorizontalPodAutoscaler",
	"daemonsets":               "DaemonSet",
}

// Trace contains the writes to objects in a namespace, from the audit log of the API server.
// The keys are the "Kind/name" of the objects. Writes are in the order in which they were
// received.
type Trace map[string][]Write

// Write is one write in a Trace.
type Write struct {
	Verb     string
	Received time.Time
	// ByHelm is true if the client was Ordered Helm, its controller, or stock Helm.
	ByHelm bool
	// Stored is the object as it was stored, and version is its resource version. Both are
	// empty for Secrets and for deletions.
	Stored  Snapshot
	version int64
}

// ReadTrace returns the writes in the namespace until now.
func (h *Helm) ReadTrace(tb testing.TB) Trace {
	tb.Helper()
	t := Trace{}
	for _, e := range h.Cluster.AuditIn(tb, h.Namespace) {
		kind := Kinds[e.Resource]
		if kind == "" || e.Stage != cluster.StageComplete || e.Code >= 300 ||
			e.Subresource != "" && e.Subresource != "status" || slices.Contains([]string{"get", "list", "watch"}, e.Verb) || strings.Contains(e.URI, "dryRun=") {
			continue
		}
		w := Write{Verb: e.Verb, Received: e.Received, ByHelm: strings.HasPrefix(e.UserAgent, "Helm/") || e.UserAgent == "helm-controller"}
		if e.Verb != "delete" && len(e.Response) > 0 {
			if err := json.Unmarshal(e.Response, &w.Stored); err != nil {
				tb.Fatalf("%s %s: %v", e.Verb, e.URI, err)
			}
			w.version, _ = strconv.ParseInt(w.Stored.Metadata.ResourceVersion, 10, 64) // 0 if there is none
		}
		name := e.Name
		if name == "" {
			name = w.Stored.Metadata.Name
		}
		t[kind+"/"+name] = append(t[kind+"/"+name], w)
	}
	for _, writes := range t {
		slices.SortStableFunc(writes, func(a, b Write) int { return a.Received.Compare(b.Received) })
	}
	return t
}

// Since returns the trace without the writes before a time.
func (t Trace) Since(from time.Time) Trace {
	later := Trace{}
	for id, writes := range t {
		writes = slices.DeleteFunc(slices.Clone(writes), func(w Write) bool { return w.Received.Before(from) })
		if len(writes) > 0 {
			later[id] = writes
		}
	}
	return later
}

// HelmWrites returns the writes of an object that Helm sent, only those with one of the verbs
// if verbs are given.
func (t Trace) HelmWrites(id string, verbs ...string) []Write {
	var list []Write
	for _, w := range t[id] {
		if w.ByHelm && (len(verbs) == 0 || slices.Contains(verbs, w.Verb)) {
			list = append(list, w)
		}
	}
	return list
}

// WrittenByHelm returns the "Kind/name" of the objects that Helm wrote, sorted, only those
// written with one of the verbs if verbs are given. It leaves out the Secrets that store
// revisions.
func (t Trace) WrittenByHelm(verbs ...string) []string {
	ids := []string{}
	for id := range t {
		if !IsReleaseSecret(id) && len(t.HelmWrites(id, verbs...)) > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// IsReleaseSecret reports whether an object, given by "Kind/name", is a Secret that stores a
// revision, or a part of it.
func IsReleaseSecret(id string) bool {
	return strings.HasPrefix(id, "Secret/sh.helm.release.v1.") || partName.MatchString(id)
}

// partName matches the Secrets with parts of a revision of the storage driver "crd": the name of
// the release, a ULID, the part and a digest.
var partName = regexp.MustCompile(`^Secret/.+\.[0-9a-hjkmnp-tv-z]{26}\.[a-z]+-\d+-[0-9a-f]+$`)

// ChangeVerbs are the verbs of requests that create or change objects.
var ChangeVerbs = []string{"create", "update", "patch"}

// NotReadyReason returns why an object was not ready at a time in the version that Helm wrote
// last, or an empty string if it was ready.
func (t Trace) NotReadyReason(o OrderedObject, at time.Time) string {
	written := t.HelmWrites(o.String(), ChangeVerbs...)
	if len(written) == 0 {
		return "was never written"
	}
	last := written[len(written)-1]
	if last.Received.After(at) {
		return "was only written at " + last.Received.String()
	}
	for _, w := range t[o.String()] {
		if w.Verb != "delete" && w.version >= last.version && !w.Received.Before(last.Received) && !w.Received.After(at) && w.Stored.upToDate(o.Kind) {
			return ""
		}
	}
	return "was not ready in its new version"
}

// Created returns the time at which the create request for an object was received, or zero if
// there was none.
func (t Trace) Created(id string) time.Time {
	for _, w := range t[id] {
		if w.Verb == "create" {
			return w.Received
		}
	}
	return time.Time{}
}

// Ready returns the time at which the first request was received that stored an object in a
// ready state, or zero if there was none. Watchers can see the state before the response to
// the request is sent, but not before the request is received.
func (t Trace) Ready(id string) time.Time {
	kind, _, _ := strings.Cut(id, "/")
	for _, w := range t[id] {
		if w.Verb != "delete" && w.Stored.Ready(kind) {
			return w.Received
		}
	}
	return time.Time{}
}

// Deleted returns the time at which the first delete request for an object was received, and
// the time gone, at which the write was received after which the object no longer existed: a
// delete request, or one that removed the last finalizer. Both are zero if there was no delete
// request.
func (t Trace) Deleted(id string) (first, gone time.Time) {
	for _, w := range t[id] {
		switch {
		case w.Verb == "delete" && first.IsZero():
			first, gone = w.Received, w.Received
		case first.IsZero():
		case w.Verb == "create":
			return first, gone
		default:
			gone = w.Received
		}
	}
	return first, gone
}

// PodsGone returns the time at which the last pod of a workload no longer existed, or zero if
// there were no pods. Pods whose name begins with the workload's name belong to the workload.
func (t Trace) PodsGone(workload OrderedObject) time.Time {
	var last time.Time
	switch workload.Kind {
	case "Deployment", "StatefulSet", "Job":
	default:
		return last
	}
	for id := range t {
		if _, gone := t.Deleted(id); strings.HasPrefix(id, "Pod/"+workload.Name+"-") && gone.After(last) {
			last = gone
		}
	}
	return last
}

// Snapshot contains the fields of a stored object that show whether it is ready.
type Snapshot struct {
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

// Ready reports whether an object of the kind is ready. It does not use the code under test.
func (s Snapshot) Ready(kind string) bool {
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
		return s.Condition("Complete")
	case "Pod":
		return s.Condition("Ready") || s.Status.Phase == "Succeeded"
	case "PodDisruptionBudget":
		return observed
	case "PersistentVolumeClaim":
		return s.Status.Phase == "Bound"
	}
	return true
}

// Condition reports whether the object has a condition of the given type with status True.
func (s Snapshot) Condition(kind string) bool {
	for _, c := range s.Status.Conditions {
		if c.Type == kind && c.Status == "True" {
			return true
		}
	}
	return false
}

// upToDate reports whether the object is ready, and no pods of an earlier version of it are
// left.
func (s Snapshot) upToDate(kind string) bool {
	replicas := int32(1)
	if s.Spec.Replicas != nil {
		replicas = *s.Spec.Replicas
	}
	switch kind {
	case "Deployment":
		return s.Ready(kind) && s.Status.Replicas <= replicas
	case "StatefulSet":
		return s.Ready(kind) && s.Status.UpdatedReplicas >= replicas
	}
	return s.Ready(kind)
}

// ExpectReadyBefore checks that a run of helm succeeded, and that the second object was
// created after the first one was ready.
func (h *Helm) ExpectReadyBefore(tb testing.TB, r Result, first, second string) {
	tb.Helper()
	if r.ExitCode != 0 {
		tb.Fatalf("exit code %d\n%s", r.ExitCode, r.Stderr)
	}
	recorded := h.ReadTrace(tb)
	switch ready, created := recorded.Ready(first), recorded.Created(second); {
	case ready.IsZero():
		tb.Errorf("%s never got ready", first)
	case created.Before(ready):
		tb.Errorf("%s was created at %s, before %s was ready at %s", second, created, first, ready)
	}
}

// ExpectOrder checks that the objects were written since h.Started one after the other, each after the one before it
// was ready.
func (h *Helm) ExpectOrder(tb testing.TB, ids ...string) {
	tb.Helper()
	recorded := h.ReadTrace(tb).Since(h.Started)
	for i, id := range ids {
		writes := recorded.HelmWrites(id, ChangeVerbs...)
		if len(writes) == 0 {
			tb.Errorf("%s was not written", id)
			continue
		}
		if i > 0 {
			if ready := recorded.Ready(ids[i-1]); ready.IsZero() || writes[0].Received.Before(ready) {
				tb.Errorf("%s was written at %s, but %s was ready at %s", id, writes[0].Received, ids[i-1], ready)
			}
		}
	}
}
