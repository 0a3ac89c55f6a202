// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import "github.com/ordered-helm/helm/internal/planner"

// OrderFile is an order file that is given for an operation, in addition to those of the charts
// (docs/reference.md, "Order files").
type OrderFile = planner.OrderFile

// orderFile returns the order file that applies to the upgrade; nil if there is none. It warns if the upgrade drops
// that of the current revision.
func (r *upgradeRun) orderFile() (*OrderFile, error) {
	u := r.action
	if u.OrderFile != nil || !u.isOrdered() {
		return u.OrderFile, nil
	}
	file, dropped, err := planner.PreviousOrderFile(r.current, u.ReuseOrder)
	if dropped != "" {
		r.op.Events.Warn(dropped)
	}
	return file, explainUnusableRecord(err)
}
