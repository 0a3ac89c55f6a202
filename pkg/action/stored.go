// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"runtime"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
)

// readRevision reads a revision that is stored. Others may write what is stored: what
// Helm cannot decode, where its driver panics, and what it would not have written is an
// error.
func readRevision(releases *storage.Storage, name string, version int) (rel *release.Release, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			rel, err = nil, &damagedError{name: name, version: version, what: "it cannot be decoded"}
		default:
			panic(p)
		}
	}()
	rel, err = releases.Get(name, version)
	if err == nil {
		err = checkStored(rel, name, version)
	}
	if err != nil {
		return nil, err
	}
	return rel, nil
}

// readRevisions reads all revisions of a release that can be decoded.
func readRevisions(releases *storage.Storage, name string) ([]*release.Release, error) {
	list, err := releases.History(name)
	if err != nil {
		return list, err
	}
	for _, rel := range list {
		if err := checkStored(rel, name, rel.Version); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// checkStored refuses a revision that Helm would not have stored so.
func checkStored(rel *release.Release, name string, version int) error {
	what := ""
	switch {
	case rel == nil:
		what = "it is empty"
	case rel.Info == nil:
		what = "it has no status"
	case rel.Name != name || rel.Version != version:
		what = fmt.Sprintf("it is about revision %d of release %q", rel.Version, rel.Name)
	case slices.Contains(rel.Hooks, nil):
		what = "it has an empty hook"
	default:
		return nil
	}
	return &damagedError{name: name, version: version, what: what}
}

// damagedError says that a revision is stored in a way in which no Helm stores any.
type damagedError struct {
	name    string
	version int
	what    string
}

func (e *damagedError) Error() string {
	return fmt.Sprintf("the record of revision %d of release %s is damaged: %s; delete it (%s.%s.v%d) once you know that nobody works on the release",
		e.version, e.name, e.what, storage.HelmStorageType, e.name, e.version)
}
