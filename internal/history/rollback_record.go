// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderrecord"
)

// RollbackRecord returns the order record for the new revision that a rollback to target
// creates; nil if it has none. In an ordered rollback, order is the order record of target,
// and the result says that the new revision was deployed in this order. If order is nil, the
// result is a copy of the order record of target, as in a rollback with stock Helm: it still
// names the revision that was deployed in order. RollbackRecord does not copy an order
// record that cannot be used.
func RollbackRecord(target *release.Release, revision int, order *orderrecord.Record) *orderrecord.Record {
	if order != nil {
		return &orderrecord.Record{Revision: revision, Ordered: true, Charts: order.Charts, DocumentCharts: order.DocumentCharts, OrderFiles: order.OrderFiles}
	}
	rec, err := orderrecord.Read(target)
	if err != nil || rec == nil || !rec.Ordered && !DeclaresHooks(rec.Charts) {
		return nil
	}
	rec.Progress, rec.Earlier, rec.HookObjects = nil, nil, nil
	return rec
}
