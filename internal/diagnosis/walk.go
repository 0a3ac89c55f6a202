// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
)

// ref identifies an object that the walk visits. uid can be empty.
type ref struct {
	kind, namespace, name string
	uid                   types.UID
}

func (r ref) String() string {
	if r.namespace == "" {
		return r.kind + " " + r.name
	}
	return r.kind + " " + r.namespace + "/" + r.name
}

// owns reports whether object has an owner reference to r. If the UID of r is unknown, it
// returns true.
func (r ref) owns(object metav1.Object) bool {
	if r.uid == "" {
		return true
	}
	for _, owner := range object.GetOwnerReferences() {
		if owner.UID == r.uid {
			return true
		}
	}
	return false
}

// walk finds the causes of one subject: it visits the objects on which the subject depends,
// and collects findings about them. It runs in one goroutine.
type walk struct {
	*Diagnoser
	session  *clusterreader.Session
	subject  Subject
	brief    bool // whether DiagnoseBriefly was called
	findings []finding
	// visited has the objects whose warning events are added to findings at the end.
	visited []visitedObject
	lookups int // the number of referenced objects that were read; at most maxLookups
	// forbidden describes the first missing permission, except for events. forbiddenEvents
	// describes the missing permission to read events, which is less important. They are
	// empty if no permission was missing.
	forbidden, forbiddenEvents string
}

// visitedObject is an entry of walk.visited. isExplained returns true for the reasons of
// warnings that add nothing to the findings; nil means that all warnings are added.
type visitedObject struct {
	ref
	isExplained func(reason string) bool
}

// add adds a finding about the object at.
func (w *walk) add(at ref, f finding) {
	f.Object = at.String()
	w.findings = append(w.findings, f)
}

// hasFinding reports whether there is a finding with the rank worst or a more relevant one.
func (w *walk) hasFinding(worst certainty) bool {
	for _, f := range w.findings {
		if f.rank <= worst {
			return true
		}
	}
	return false
}

// visit makes addWarnings add the warnings about an object, except those with a reason for
// which explained returns true. explained can be nil.
func (w *walk) visit(at ref, explained func(reason string) bool) {
	w.visited = append(w.visited, visitedObject{ref: at, isExplained: explained})
}

// diagnose returns the findings about the subject that are returned as causes.
func (w *walk) diagnose(ctx context.Context) []finding {
	obj := w.subject.Object
	at := ref{kind: w.subject.GVK.Kind, namespace: w.subject.Namespace, name: w.subject.Name}
	if at.kind == "" {
		at.kind = w.subject.GVR.Resource
	}
	if obj == nil {
		var err error
		obj, err = w.get(ctx, w.subject.GVR, at.namespace, at.name)
		if apierrors.IsNotFound(err) {
			w.add(at, finding{rank: rankCause, Cause: Cause{Reason: "NotFound", Message: "not found"}})
		}
	}
	if obj != nil {
		at.uid = obj.GetUID()
		if obj.GetDeletionTimestamp() != nil {
			w.diagnoseTerminating(at, obj)
		} else {
			w.diagnoseKind(ctx, at, obj)
		}
		w.addWarnings(ctx)
	}
	w.addForbidden(at)
	return selectFindings(w.findings)
}

// addForbidden adds a finding about a missing permission, unless there are other findings
// than symptoms, which controllers report.
func (w *walk) addForbidden(at ref) {
	denied := w.forbidden
	if denied == "" && len(w.findings) == 0 {
		denied = w.forbiddenEvents
	}
	if denied == "" || w.hasFinding(rankUnexplained) {
		return
	}
	w.add(at, finding{rank: rankSymptom, Cause: Cause{Reason: "Forbidden", Message: denied + ", so the cause is unknown"}})
}

// diagnoseKind calls the method that adds the findings about an object of this kind.
func (w *walk) diagnoseKind(ctx context.Context, at ref, obj *unstructured.Unstructured) {
	ways := map[string]func(context.Context, ref, *unstructured.Unstructured){
		"apps/Deployment":                   w.diagnoseDeployment,
		"apps/ReplicaSet":                   w.diagnoseReplicaSet,
		"apps/StatefulSet":                  w.diagnoseStatefulSet,
		"apps/DaemonSet":                    w.diagnoseDaemonSet,
		"batch/Job":                         w.diagnoseJob,
		"/ReplicationController":            w.diagnoseReplicationController,
		"/Pod":                              w.diagnosePodObject,
		"/PersistentVolumeClaim":            w.diagnoseClaimObject,
		"/Service":                          w.diagnoseService,
		"networking.k8s.io/Ingress":         w.diagnoseIngress,
		"apiregistration.k8s.io/APIService": w.diagnoseAPIService,
	}
	gvk := w.subject.GVK
	if gvk.Empty() {
		gvk = obj.GroupVersionKind()
	}
	way, known := ways[gvk.Group+"/"+gvk.Kind]
	if !known {
		way = w.diagnoseByConditions
	}
	way(ctx, at, obj)
}

// diagnoseTerminating adds a finding about an object that is being deleted.
func (w *walk) diagnoseTerminating(at ref, object metav1.Object) {
	deadline := object.GetDeletionTimestamp()
	if deadline == nil {
		return
	}
	message := "being deleted"
	overdue := w.now().Sub(deadline.Time)
	if overdue > 0 && !w.brief {
		message += ", " + duration.HumanDuration(overdue) + " longer than its grace period"
		if grace := object.GetDeletionGracePeriodSeconds(); grace == nil || *grace == 0 {
			message = "being deleted for " + duration.HumanDuration(overdue)
		}
	}
	f := finding{rank: rankUnexplained, key: "terminating", Cause: Cause{Reason: "Terminating"}}
	if finalizers := object.GetFinalizers(); len(finalizers) > 0 {
		f.rank = rankCause
		message += ", waiting for finalizers: " + strings.Join(finalizers, ", ")
		f.key += strings.Join(finalizers, ",")
	} else if overdue > time.Minute {
		f.rank = rankWarning
	} else if overdue < 0 && !w.brief {
		message += ", its grace period ends in " + duration.HumanDuration(-overdue)
	}
	f.Message = message
	w.add(at, f)
	w.visit(at, anyReason("Unhealthy")) // probes fail while a pod stops
}
