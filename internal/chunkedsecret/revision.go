// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chunkedsecret

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/placeholder"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

const (
	// version is the version of the format of contents.
	version = 1
	// unusedPartsAnnotation is the annotation of Helm's Secret with the names of the Secrets that
	// exist, or are about to be created, but to which the stored release does not refer.
	unusedPartsAnnotation = "helm.sh/unused-release-parts"
)

// contents is what a placeholder contains, as JSON.
type contents struct {
	Version int                `json:"version"`
	Head    *releaseparts.Head `json:"head"`
	// References is empty until the sections of a new revision are stored.
	References []releaseparts.Reference `json:"references,omitempty"`
	// HasUnknownFields says that the section with the release contains fields of other versions
	// of Helm.
	HasUnknownFields bool `json:"hasUnknownFields,omitempty"`
}

// storedRevision is what is known of a stored revision.
type storedRevision struct {
	// secret is Helm's Secret. Its data is omitted unless it contains a placeholder.
	secret *corev1.Secret
	// contents is what the placeholder contains; nil if the Secret contains the release.
	contents *contents
	// unusedParts are those that the annotation names, without those that are deleted.
	unusedParts []string
}

// newStoredRevision returns what a Secret contains. rel is the release that Helm's driver has read
// from it. If another driver stores the revision, and placeholders are not to be read, the error is one of those of
// placeholder.Check.
func newStoredRevision(secret *corev1.Secret, rel *release.Release, readPlaceholders bool) (*storedRevision, error) {
	s := &storedRevision{secret: secret, unusedParts: unusedParts(secret)}
	driverName, data := placeholder.Of(rel)
	if driverName == "" || readPlaceholders && (driverName != DriverName || placeholder.MigrationOf(rel) != nil) {
		s.secret = withoutData(secret)
		return s, nil
	}
	if err := placeholder.Check(rel, DriverName); err != nil {
		return nil, err
	}
	found, err := decodeContents(data)
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", secret.Name, err)
	}
	if found.Head.Name != rel.Name || found.Head.Revision != rel.Version {
		dropPlaceholder(rel)
		s.secret = withoutData(secret)
		return s, nil
	}
	if rel.Info != nil && rel.Info.Status != placeholder.Status(found.Head) {
		// Stock Helm has changed the status, in spite of the placeholder.
		found.Head.Status, found.Head.Description, found.Head.Deleted = rel.Info.Status, rel.Info.Description, rel.Info.Deleted
	}
	s.contents = found
	return s, nil
}

// dropPlaceholder removes everything from a revision that stock Helm has copied from the
// placeholder of another revision, for a rollback that failed.
func dropPlaceholder(rel *release.Release) {
	rel.Manifest, rel.Hooks = "", nil
	ch := *rel.Chart
	ch.Files = nil
	metadata := *ch.Metadata
	metadata.Annotations = nil
	ch.Metadata, rel.Chart = &metadata, &ch
}

func decodeContents(data []byte) (*contents, error) {
	var c contents
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, err
	}
	switch {
	case c.Version > version:
		return nil, fmt.Errorf("it has version %d, but this program supports versions up to %d: upgrade Ordered Helm", c.Version, version)
	case c.Head == nil:
		return nil, fmt.Errorf("it has no head")
	}
	return &c, nil
}

// summary returns what the Secret alone says about the release. rel is what Helm's driver has read
// from it.
func (s *storedRevision) summary(rel *release.Release) *release.Release {
	if s.contents == nil {
		return rel
	}
	summary := s.contents.Head.Release()
	summary.Labels = rel.Labels
	return summary
}

// references returns the references to the stored sections.
func (s *storedRevision) references() []releaseparts.Reference {
	if s.contents == nil {
		return nil
	}
	return s.contents.References
}

// allParts returns the names of all Secrets with parts of the revision.
func (s *storedRevision) allParts() []string {
	return append(releaseparts.SecretsOf(s.references()), s.unusedParts...)
}

// owner identifies the revision for releaseparts.
func (s *storedRevision) owner() releaseparts.Owner {
	revision, _ := strconv.Atoi(s.secret.Labels["version"]) // Helm's driver sets both labels
	return releaseparts.Owner{
		Namespace: s.secret.Namespace, Release: s.secret.Labels["name"], Revision: revision,
		Reference: metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: s.secret.Name, UID: s.secret.UID},
	}
}

// withoutData returns a copy of a Secret without its data, which can be large.
func withoutData(secret *corev1.Secret) *corev1.Secret {
	bare := *secret
	bare.Data, bare.ManagedFields = nil, nil
	return &bare
}

func unusedParts(secret *corev1.Secret) []string {
	return strings.FieldsFunc(secret.Annotations[unusedPartsAnnotation], func(r rune) bool { return r == ',' })
}

// setUnusedParts sets the annotation of a Secret.
func setUnusedParts(secret *corev1.Secret, parts []string) {
	secret.Annotations = maps.Clone(secret.Annotations)
	delete(secret.Annotations, unusedPartsAnnotation)
	if len(parts) == 0 {
		return
	}
	if secret.Annotations == nil {
		secret.Annotations = map[string]string{}
	}
	secret.Annotations[unusedPartsAnnotation] = strings.Join(parts, ",")
}

// without returns the names that are not in others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// Listed returns what a list shows of a release. rel was read from a Secret for a list. If it is
// not a placeholder of this driver, Listed returns rel.
func Listed(rel *release.Release) *release.Release {
	driverName, data := placeholder.Of(rel)
	if driverName != DriverName {
		return rel
	}
	s, err := newStoredRevision(&corev1.Secret{}, rel, false)
	if err != nil || data == nil {
		return rel
	}
	return s.summary(rel)
}
