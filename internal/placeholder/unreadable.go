// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package placeholder

import (
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/releaseparts"
)

// unreadableFile is the name of the file in the chart of an unreadable revision that says why it
// is unreadable.
const unreadableFile = ".ordered-helm/unreadable"

// NewUnreadable returns what a storage driver lists instead of a revision of which it can read
// nothing but the head. problem says why. Operations that do not need the rest of the revision
// can continue. To the others, CheckReadable returns an error; if they do not call it, the
// manifest makes them fail.
func NewUnreadable(head *releaseparts.Head, problem error) *release.Release {
	rel := head.Release()
	rel.Manifest = unreadableManifest
	rel.Chart.Files = slices.Insert(rel.Chart.Files, 0, &chart.File{Name: unreadableFile, Data: []byte(problem.Error())})
	return rel
}

// unreadableManifest declares an object of a kind that no server knows.
const unreadableManifest = "---\napiVersion: " + apiVersion + "\nkind: UnreadableRelease\nmetadata:\n  name: unreadable\n"

// UnreadableError reports that a revision is needed of which a part cannot be read.
type UnreadableError struct {
	Release  string
	Revision int
	// Problem says why, and how to resolve the problem.
	Problem string
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("revision %d of release %s is incomplete: %s", e.Revision, e.Release, e.Problem)
}

// CheckReadable returns an *UnreadableError if NewUnreadable has created rel.
func CheckReadable(rel *release.Release) error {
	if rel.Manifest != unreadableManifest || rel.Chart == nil {
		return nil
	}
	i := slices.IndexFunc(rel.Chart.Files, func(f *chart.File) bool { return f != nil && f.Name == unreadableFile })
	if i < 0 {
		return nil
	}
	return &UnreadableError{Release: rel.Name, Revision: rel.Version, Problem: string(rel.Chart.Files[i].Data)}
}
