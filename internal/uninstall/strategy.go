// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// strategy consists of the steps of Run that depend on whether the release is uninstalled in
// order. It has two implementations: ordered deletes objects in reverse order, and unordered
// deletes them without ordering, as Helm does.
type strategy interface {
	// prepare determines which objects to delete. It changes nothing in the cluster. kept
	// lists, one per line, the objects that are kept because of the annotation
	// helm.sh/resource-policy.
	prepare(ctx context.Context) (kept string, err error)
	// deleteObjects deletes the objects that prepare determined. ordered returns those for
	// which the server accepted the delete request, and unordered returns all.
	deleteObjects(ctx context.Context) (deleted kube.ResourceList, err error)
	// hookError converts the error of pre-delete hooks to the error of the uninstall.
	// deletionError converts the error of deleteObjects.
	hookError(ctx context.Context, err error) error
	deletionError(ctx context.Context, err error) error
	// waitTimeout returns how long to wait until the deleted objects no longer exist.
	waitTimeout() time.Duration
	// plan returns the deployment graph whose steps deleteObjects runs; nil if it runs none.
	plan() *sequencer.Plan
	// restoresRelease reports whether the stored release is restored to its previous state if
	// the uninstall fails before it has deleted an object or run a hook.
	restoresRelease() bool
}

func newStrategy(r *Run) strategy {
	if r.options.Ordered {
		return &ordered{op: r.op, writer: r.writer, inventory: r.target.inventory, options: r.options, runHooks: r.runStep}
	}
	return &unordered{op: r.op, writer: r.writer, inventory: r.target.inventory, options: r.options}
}

// propagation converts Options.Propagation to the type of Kubernetes. As in Helm, an unknown
// value means "background".
func propagation(value string, log func(string, ...any)) metav1.DeletionPropagation {
	switch value {
	case "orphan":
		return metav1.DeletePropagationOrphan
	case "foreground":
		return metav1.DeletePropagationForeground
	case "background":
	default:
		log("uninstall: given cascade value: %s, defaulting to delete propagation background", value)
	}
	return metav1.DeletePropagationBackground
}
