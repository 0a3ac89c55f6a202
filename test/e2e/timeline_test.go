// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/cluster"
)

// timeline is what the API server recorded about the objects of a namespace.
type timeline map[string]*life

// life is the recorded life of one object, named "Kind/name".
type life struct {
	// created is when the request to create it came in.
	created time.Time
	// ready is when the first request came in by which the server stored it in
	// a state that counts as ready; zero if none did. Watchers may hear of it
	// before the request is answered, but not before it came.
	ready time.Time
	// deleted is when the first request to delete it came in.
	deleted time.Time
	// gone is when the last one came in, which ended it.
	gone time.Time
}

// kinds are the kinds of the resources that the tests' charts use.
var kinds = map[string]string{
	"deployments": "Deployment", "statefulsets": "StatefulSet", "jobs": "Job", "pods": "Pod",
	"configmaps": "ConfigMap", "secrets": "Secret", "services": "Service", "serviceaccounts": "ServiceAccount",
	"roles": "Role", "rolebindings": "RoleBinding", "ingresses": "Ingress", "networkpolicies": "NetworkPolicy",
	"poddisruptionbudgets": "PodDisruptionBudget", "persistentvolumeclaims": "PersistentVolumeClaim",
	"horizontalpodautoscalers": "HorizontalPodAutoscaler",
	"daemonsets":               "DaemonSet",
}

func readTimeline(tb testing.TB, c *cluster.Cluster, namespace string) timeline {
	tb.Helper()
	t := timeline{}
	for _, e := range c.AuditIn(tb, namespace) {
		kind := kinds[e.Resource]
		if kind == "" || e.Stage != cluster.StageComplete || e.Code >= 300 ||
			e.Subresource != "" && e.Subresource != "status" {
			continue
		}
		var stored snapshot
		if e.Verb != "delete" && len(e.Response) > 0 {
			if err := json.Unmarshal(e.Response, &stored); err != nil {
				tb.Fatalf("%s %s: %v", e.Verb, e.URI, err)
			}
		}
		name := e.Name
		if name == "" {
			name = stored.Metadata.Name
		}
		t.note(kind+"/"+name, kind, e, stored)
	}
	return t
}

func (t timeline) note(id, kind string, e cluster.Event, stored snapshot) {
	l := t[id]
	if l == nil {
		l = &life{}
		t[id] = l
	}
	switch e.Verb {
	case "create":
		if e.Subresource == "" && l.created.IsZero() {
			l.created = e.Received
		}
	case "delete":
		if l.deleted.IsZero() {
			l.deleted = e.Received
		}
		l.gone = e.Received
		return
	}
	if l.ready.IsZero() && stored.ready(kind) {
		l.ready = e.Received
	}
}

// podsGone is when the last pod of a workload was gone, which bears its name;
// zero if it had none.
func (t timeline) podsGone(workload object) time.Time {
	var last time.Time
	switch workload.kind {
	case "Deployment", "StatefulSet", "Job":
	default:
		return last
	}
	for id, l := range t {
		if strings.HasPrefix(id, "Pod/"+workload.name+"-") && l.gone.After(last) {
			last = l.gone
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
