// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/planner"
	"github.com/ordered-helm/helm/internal/text"
)

// OrderFile is an order file that is given for an operation, in addition to those of the charts
// (docs/reference.md, "Order files").
type OrderFile = planner.OrderFile

// validateOrderFile returns an error if an order file is given although the operation follows no order.
func validateOrderFile(file *OrderFile, s WaitStrategy) error {
	if file != nil && s != WaitStrategyOrdered {
		return errors.New("an order file has an effect only in an ordered operation: use --wait=ordered (WaitStrategyOrdered) or omit --order")
	}
	return nil
}

// orderFile returns the order file that is given for the upgrade or, if ReuseOrder is set, that of the current
// revision. It warns if the upgrade drops the latter.
func (r *upgradeRun) orderFile() (*OrderFile, error) {
	u := r.action
	if u.OrderFile != nil || !u.isOrdered() {
		return u.OrderFile, nil
	}
	rec, err := orderrecord.Read(r.current)
	if err != nil {
		if u.ReuseOrder {
			return nil, explainUnusableRecord(err)
		}
		return nil, nil //nolint:nilerr // the upgrade does not need the order of the current revision
	}
	given := rec.GivenOrderFile()
	switch {
	case given == nil || rec.Revision != r.current.Version:
		return nil, nil
	case u.ReuseOrder:
		return &OrderFile{Name: given.Name, Text: []byte(given.Text)}, nil
	}
	r.op.Events.Warnf("%s", droppedOrderFile(given, r.current.Version))
	return nil, nil
}

// droppedOrderFile says what an upgrade drops that does not use the order file of the current revision.
func droppedOrderFile(given *orderrecord.OrderFile, revision int) string {
	rules := ""
	if charts, resources, err := given.CountRules(); err == nil {
		rules = fmt.Sprintf(" (%s about charts, %s about resources)", text.Count(charts, "rule"), text.Count(resources, "rule"))
	}
	return fmt.Sprintf("the order file %s%s, with which revision %d was deployed, no longer applies: "+
		"to keep it, use --reuse-order, or give a file with --order", given.Name, rules, revision)
}
