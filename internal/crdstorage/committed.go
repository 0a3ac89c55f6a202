// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"github.com/ordered-helm/helm/internal/releaseapi"
)

// parentKey returns the key of the Release of a version, in maps of Releases.
func parentKey(v *releaseapi.ReleaseVersion) string { return v.Namespace + "/" + v.Spec.ReleaseName }

// onlyParent returns a map with one Release; without any if it is nil.
func onlyParent(parent *releaseapi.Release) map[string]*releaseapi.Release {
	if parent == nil {
		return nil
	}
	return map[string]*releaseapi.Release{parent.Namespace + "/" + parent.Name: parent}
}

// isCommitted reports whether a version belongs to its release. It does not before the Release names it. Both can be nil.
func isCommitted(parent *releaseapi.Release, v *releaseapi.ReleaseVersion) bool {
	switch {
	case parent == nil || v == nil:
		return false
	case v.Name == parent.Status.LatestVersion, v.Spec.Revision < parent.Status.Revision:
		return true
	}
	return v.Spec.Revision > parent.Status.Revision && hasEnded(v)
}

// hasEnded reports whether the operation that has created a version has ended. Then the Release has named the version, even
// if somebody has edited the Release since.
func hasEnded(v *releaseapi.ReleaseVersion) bool {
	return v.Status.Phase != "" && !v.Status.Phase.IsPending()
}

// repair corrects which version Releases name as the newest one, if somebody has edited a Release or deleted a version.
// versions are all versions of the Releases. It reports whether there was something to correct.
func repair(parents map[string]*releaseapi.Release, versions []*releaseapi.ReleaseVersion) (repaired bool) {
	newest := map[*releaseapi.Release]*releaseapi.ReleaseVersion{}
	for _, v := range versions {
		parent := parents[parentKey(v)]
		if parent == nil || !isCommitted(parent, v) && !hasEnded(v) {
			continue
		}
		before := newest[parent]
		// Of two versions with the same revision, the other one is about to be deleted by the operation that has created it.
		if before == nil || v.Spec.Revision > before.Spec.Revision || v.Spec.Revision == before.Spec.Revision && v.Name == parent.Status.LatestVersion {
			newest[parent] = v
		}
	}
	for parent, v := range newest {
		if parent.Status.Revision != v.Spec.Revision || parent.Status.LatestVersion != v.Name {
			parent.Status.Revision, parent.Status.LatestVersion, repaired = v.Spec.Revision, v.Name, true
		}
	}
	return repaired
}

// splitCommitted returns the versions that belong to Releases, and the others. Of two versions with the same revision, an
// interrupted operation has left one.
func splitCommitted(parents map[string]*releaseapi.Release, versions []*releaseapi.ReleaseVersion) (committed, uncommitted []*releaseapi.ReleaseVersion) {
	type numbered struct {
		release  string
		revision int64
	}
	chosen := map[numbered]*releaseapi.ReleaseVersion{}
	for _, v := range versions {
		parent, number := parents[parentKey(v)], numbered{parentKey(v), v.Spec.Revision}
		other := chosen[number]
		switch {
		case !isCommitted(parent, v):
			uncommitted = append(uncommitted, v)
		case other == nil:
			chosen[number] = v
		case v.Name == parent.Status.LatestVersion || hasEnded(v) && !hasEnded(other) && other.Name != parent.Status.LatestVersion:
			chosen[number], uncommitted = v, append(uncommitted, other)
		default:
			uncommitted = append(uncommitted, v)
		}
	}
	for _, v := range versions {
		if chosen[numbered{parentKey(v), v.Spec.Revision}] == v {
			committed = append(committed, v)
		}
	}
	return committed, uncommitted
}

// keyOf returns the key of a version.
func keyOf(v *releaseapi.ReleaseVersion) versionKey {
	return versionKey{v.Spec.ReleaseName, int(v.Spec.Revision)}
}
