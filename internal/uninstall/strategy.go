// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/operation"
)

// strategy has the steps of Run that depend on whether the release is uninstalled in order.
// The type ordered deletes objects in reverse order, and unordered all at the same time, as
// Helm does.
type strategy interface {
	// prepare finds out which objects will be deleted. It changes nothing in the cluster.
	// kept lists, one in a line, the objects that are not deleted because of their resource
	// policy.
	prepare(ctx context.Context) (kept string, err error)
	// deleteObjects deletes the objects that prepare found, and returns those that it
	// deleted.
	deleteObjects(ctx context.Context) (deleted kube.ResourceList, err error)
	// hookError converts the error of failed hooks to the error of the uninstall, and
	// deletionError does the same with an error of deleteObjects.
	hookError(ctx context.Context, err error) error
	deletionError(ctx context.Context, err error) error
	// waitTimeout returns how long to wait until the deleted objects no longer exist.
	waitTimeout() time.Duration
	// restoresRecord reports whether the previous record of the release is restored if the
	// uninstall fails before it has deleted anything.
	restoresRecord() bool
}

func newStrategy(op *operation.Operation, w *history.Writer, inv *inventory.Inventory, o Options) strategy {
	if o.Ordered {
		return &ordered{op: op, writer: w, inventory: inv, options: o}
	}
	return &unordered{op: op, writer: w, inventory: inv, options: o}
}

// propagation converts Options.Propagation to Kubernetes' type. An unknown value means
// "background", as in Helm.
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
