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
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
)

// subjectDiagnosis is the diagnosis of one subject. It holds what the rules for all kinds
// need. It must not be used concurrently.
type subjectDiagnosis struct {
	cluster    *clusterreader.Reader
	findings   *findings
	references *referenceChecker
	brief      bool // true in DiagnoseBriefly
	now        func() time.Time
	// object is the state of the subject, or nil until it has been read.
	object *unstructured.Unstructured
}

// diagnose returns the findings that are to be returned as causes.
func (w *subjectDiagnosis) diagnose(ctx context.Context, subject Subject) []finding {
	at := clusterreader.ObjectRef{Kind: subject.GVK.Kind, Namespace: subject.Namespace, Name: subject.Name}
	if at.Kind == "" {
		at.Kind = subject.GVR.Resource
	}
	w.object = subject.Object
	if w.object == nil {
		var err error
		w.object, err = w.cluster.Get(ctx, subject.GVR, at.Namespace, at.Name)
		if apierrors.IsNotFound(err) {
			w.findings.add(at, finding{rank: rankCause, Cause: Cause{Reason: "NotFound", Message: "not found"}})
		}
	}
	if w.object != nil {
		at.UID = w.object.GetUID()
		if w.object.GetDeletionTimestamp() != nil {
			w.addTerminating(at, w.object)
		} else {
			w.ruleFor(subject)(ctx, w, at)
		}
		w.addWarnings(ctx)
	}
	w.addForbidden(at)
	return selectFindings(w.findings.list)
}

// addForbidden adds a finding about a missing permission, unless there are already findings
// with a rank other than rankSymptom.
func (w *subjectDiagnosis) addForbidden(at clusterreader.ObjectRef) {
	denied := w.cluster.Forbidden()
	if denied == "" && len(w.findings.list) == 0 {
		denied = w.cluster.ForbiddenEvents()
	}
	if denied == "" || w.findings.hasRank(rankUnexplained) {
		return
	}
	w.findings.add(at, finding{rank: rankSymptom, Cause: Cause{Reason: "Forbidden", Message: denied + ", so the cause is unknown"}})
}

// kindRule finds out what is wrong with the subject of w, an object of one kind, and adds it to
// w.findings. at identifies the subject.
type kindRule func(ctx context.Context, w *subjectDiagnosis, at clusterreader.ObjectRef)

// rules maps the group and kind of a subject to its rule.
var rules = map[string]kindRule{
	"apps/Deployment":                   typed(diagnoseDeployment),
	"apps/ReplicaSet":                   typed(diagnoseReplicaSet),
	"apps/StatefulSet":                  typed(diagnoseStatefulSet),
	"apps/DaemonSet":                    typed(diagnoseDaemonSet),
	"batch/Job":                         typed(diagnoseJob),
	"/ReplicationController":            typed(diagnoseReplicationController),
	"/Pod":                              typed(diagnosePodSubject),
	"/PersistentVolumeClaim":            typed(diagnoseClaimSubject),
	"/Service":                          typed(diagnoseService),
	"networking.k8s.io/Ingress":         typed(diagnoseIngress),
	"apiregistration.k8s.io/APIService": diagnoseAPIService,
}

// ruleFor returns the rule for the kind of the subject.
func (w *subjectDiagnosis) ruleFor(subject Subject) kindRule {
	gvk := subject.GVK
	if gvk.Empty() {
		gvk = w.object.GroupVersionKind()
	}
	if known := rules[gvk.Group+"/"+gvk.Kind]; known != nil {
		return known
	}
	return diagnoseByConditions
}

// typed returns a rule that converts the subject to its Go type T and calls diagnose. If that
// is impossible, the rule is diagnoseByConditions.
func typed[T any](diagnose func(context.Context, *subjectDiagnosis, clusterreader.ObjectRef, *T)) kindRule {
	return func(ctx context.Context, w *subjectDiagnosis, at clusterreader.ObjectRef) {
		object, err := clusterreader.Convert[T](w.object)
		if err != nil {
			diagnoseByConditions(ctx, w, at)
			return
		}
		diagnose(ctx, w, at, object)
	}
}

// addTerminating adds a finding about an object that is being deleted, which at identifies.
func (w *subjectDiagnosis) addTerminating(at clusterreader.ObjectRef, object metav1.Object) {
	message := "being deleted"
	overdue := w.now().Sub(object.GetDeletionTimestamp().Time)
	if overdue > 0 && !w.brief {
		message = "terminating, " + duration.HumanDuration(overdue) + " past its grace period"
		if grace := object.GetDeletionGracePeriodSeconds(); grace == nil || *grace == 0 {
			message = "terminating for " + duration.HumanDuration(overdue)
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
	w.findings.add(at, f)
	w.findings.visit(at, anyReason("Unhealthy")) // probes fail while a pod stops
}

// durationSince returns " for " and the time since began, as a part of a message. It returns
// "" in DiagnoseBriefly.
func (w *subjectDiagnosis) durationSince(began metav1.Time) string {
	if w.brief || began.IsZero() {
		return ""
	}
	return " for " + duration.HumanDuration(w.now().Sub(began.Time))
}

// valueOr returns the value that p points to, or fallback if p is nil.
func valueOr[T any](p *T, fallback T) T {
	if p == nil {
		return fallback
	}
	return *p
}
