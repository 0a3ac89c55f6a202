// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package statemigration

import (
	"context"

	"helm.sh/helm/v3/pkg/storage"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/lease"
)

// sharesSecrets reports whether two storage drivers store releases in the same Secrets. The driver secret cannot read
// what does not fit into one of them.
func sharesSecrets(a, b string) bool {
	isSecret := func(name string) bool { return name == "secret" || name == "chunked-secret" }
	return isSecret(a) && isSecret(b)
}

// moveInPlace checks that the new storage driver can read all revisions, which are already where it looks for them.
func (m *Migration) moveInPlace(ctx context.Context, s *state) (*Result, error) {
	check := &lease.LockCheck{Store: history.NewStore(storage.Init(s.from.driver), m.Log), Events: m.Events, Release: m.Release}
	if _, err := check.Run(ctx); err != nil {
		return nil, err
	}
	to := s.to.revisions
	s.to.revisions = nil
	if err := s.check(); err != nil {
		return nil, err
	}
	s.to.revisions = to
	return &Result{Outcome: InPlace, Revisions: len(s.from.revisions)}, s.verify(ctx)
}
