// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/operation"
)

// begin locks the release and stores the new revision that run deploys, before anything is
// deployed, so that no other operation can change the release. what is the operation, as in
// "upgrade". state has no last revision if the new one is the first.
func begin(op *operation.Operation, run *deploy.Run, what string, state *lease.State) error {
	rel := run.Release()
	if _, err := op.Lock(run.Writer(), what, rel.Info.Status); err != nil {
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
