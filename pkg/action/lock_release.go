// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/operation"
)

// begin locks the release and stores the new revision that run will deploy, so that no
// other operation can change the release. Nothing is deployed yet. operationName, such as
// "upgrade", is stored with the lock. state.Last is nil if the new revision is the first
// one.
func begin(op *operation.Operation, run *deploy.Run, operationName string, state *lease.LockCheckResult) error {
	rel := run.Release()
	if _, err := op.Lock(run.Writer(), operationName, rel.Info.Status); err != nil {
		return err
	}
	if state.Last == nil {
		_, err := lease.Create(op.Store, rel, nil)
		return err
	}
	interrupted, err := lease.CreateNext(op.Store, op.Events, rel, state)
	run.SetInterrupted(interrupted)
	return err
}
