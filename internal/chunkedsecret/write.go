// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chunkedsecret

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/placeholder"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

// fits reports whether a release fits into one Secret.
func fits(rel *release.Release) (bool, error) {
	text, err := json.Marshal(rel)
	if err != nil {
		return false, err
	}
	return orderrecord.FitsIntoSecret(text)
}

// createLarge creates a revision that does not fit into one Secret. Its first request decides
// whether this operation or another one creates the revision.
func (d *Driver) createLarge(ctx context.Context, key string, rel *release.Release) error {
	head, sections, err := releaseparts.Split(rel)
	if err != nil {
		return err
	}
	encoded, err := releaseparts.Encode(newPrefix(key), sections, nil)
	if err != nil {
		return err
	}
	s := &storedRevision{
		secret: &corev1.Secret{}, contents: &contents{Version: version, Head: head}, unusedParts: releaseparts.NewSecrets(encoded),
	}
	if s, err = d.send(key, s, rel, true); err != nil {
		return err
	}
	if err := d.writeParts(ctx, s, encoded); err != nil {
		return d.undoCreate(ctx, s, err)
	}
	next := *s.contents
	next.References = releaseparts.References(encoded)
	d.cache.add(next.References, sections)
	s = &storedRevision{secret: s.secret, contents: &next}
	if _, err := d.send(key, s, rel, false); err != nil {
		return fmt.Errorf("create: failed to create: %w", err)
	}
	return nil
}

// undoCreate deletes a revision whose sections could not be stored because of err.
func (d *Driver) undoCreate(ctx context.Context, s *storedRevision, err error) error {
	if deleteErr := d.client.Delete(ctx, s.secret.Name, metav1.DeleteOptions{}); deleteErr != nil {
		return fmt.Errorf("create: failed to create: %w (deleting the incomplete revision also failed: %w)", err, deleteErr)
	}
	d.forget(s.secret.Name)
	d.deleteParts(ctx, s, s.allParts())
	return fmt.Errorf("create: failed to create: %w", err)
}

// update replaces the stored revision s.
func (d *Driver) update(ctx context.Context, s *storedRevision, rel *release.Release) error {
	if placeholder.CheckReadable(rel) != nil {
		return d.updateHead(s, rel)
	}
	head, sections, err := releaseparts.Split(rel)
	if err != nil {
		return err
	}
	next := &contents{Version: version, Head: head}
	if s.contents != nil && s.contents.HasUnknownFields {
		if err := d.keepUnknownFields(ctx, s, next, sections); err != nil {
			return err
		}
	}
	if s.contents == nil || !releaseparts.AreStored(sections, s.contents.References) {
		fits, err := fits(rel)
		switch {
		case err != nil:
			return fmt.Errorf("update: failed to encode release %q: %w", rel.Name, err)
		case fits && s.contents == nil:
			return d.updateAsHelm(ctx, s, rel)
		case fits:
			return d.shrink(ctx, s, rel, sections)
		}
	}
	if s.contents == nil {
		if s, err = d.prepareToGrow(ctx, s, next, sections); err != nil {
			return err
		}
	}
	return d.updateLarge(ctx, s, rel, next, sections)
}

// updateAsHelm replaces a revision that fits into one Secret by one that does too.
func (d *Driver) updateAsHelm(ctx context.Context, s *storedRevision, rel *release.Release) error {
	key := s.secret.Name
	c := &capturingClient{SecretInterface: d.client}
	if err := d.helm(c).Update(key, rel); err != nil {
		d.forget(key)
		return err
	}
	written := &storedRevision{secret: withoutData(c.secrets[0])}
	d.remember(written)
	d.deleteParts(ctx, written, s.unusedParts)
	return nil
}

// updateLarge replaces the stored revision s by one that does not fit into one Secret.
func (d *Driver) updateLarge(ctx context.Context, s *storedRevision, rel *release.Release, next *contents, sections []releaseparts.Section) error {
	key := s.secret.Name
	encoded, err := releaseparts.Encode(newPrefix(key), sections, s.references())
	if err != nil {
		return err
	}
	if created := releaseparts.NewSecrets(encoded); len(created) > 0 {
		if s, err = d.announce(ctx, s, created); err != nil {
			return err
		}
		if err := d.writeParts(ctx, s, encoded); err != nil {
			return fmt.Errorf("update: failed to update: %w", err)
		}
	}
	next.References = releaseparts.References(encoded)
	d.cache.add(next.References, sections)
	obsolete := without(s.allParts(), releaseparts.SecretsOf(next.References))
	written, err := d.send(key, &storedRevision{secret: s.secret, contents: next, unusedParts: obsolete}, rel, false)
	if err != nil {
		return err
	}
	d.deleteParts(ctx, written, obsolete)
	return nil
}

// updateHead replaces the head of a revision of which a part cannot be read, and keeps the rest.
func (d *Driver) updateHead(s *storedRevision, rel *release.Release) error {
	if s.contents == nil {
		return placeholder.CheckReadable(rel)
	}
	head, _, err := releaseparts.Split(rel)
	if err != nil {
		return err
	}
	stored := s.contents.Head
	head.Chart, head.Hooks = stored.Chart, stored.Hooks
	if head.IsRecordWhole = stored.IsRecordWhole; head.IsRecordWhole {
		head.Lease, head.Progress = stored.Lease, stored.Progress
	}
	next := *s.contents
	next.Head = head
	_, err = d.send(s.secret.Name, &storedRevision{secret: s.secret, contents: &next, unusedParts: s.unusedParts}, rel, false)
	return err
}

// writeParts writes the sections that are not stored yet.
func (d *Driver) writeParts(ctx context.Context, s *storedRevision, encoded []releaseparts.EncodedSection) error {
	client, err := d.connect()
	if err != nil {
		return err
	}
	store := releaseparts.SecretStore{Client: client}
	return store.Write(ctx, s.owner(), encoded)
}

// announce adds the names of parts that are about to be created to the annotation of the Secret.
func (d *Driver) announce(ctx context.Context, s *storedRevision, created []string) (*storedRevision, error) {
	client, err := d.connect()
	if err != nil {
		return nil, err
	}
	announced := *s
	announced.unusedParts = slices.Concat(created, s.unusedParts)
	secret := s.secret.DeepCopy()
	setUnusedParts(secret, announced.unusedParts)
	if announced.secret, err = client.CoreV1().Secrets(secret.Namespace).Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	d.client.Forget(secret.Name)
	d.remember(&announced)
	return &announced, nil
}

// send creates the Secret of a revision that does not fit into one Secret, or replaces it unless
// it has changed since s.secret was read. It returns s with the new Secret.
func (d *Driver) send(key string, s *storedRevision, rel *release.Release, create bool) (*storedRevision, error) {
	data, err := json.Marshal(s.contents)
	if err != nil {
		return nil, err
	}
	client, err := d.connect()
	if err != nil {
		return nil, err
	}
	stand := placeholder.New(DriverName, s.contents.Head, data)
	stand.Labels = rel.Labels
	c := &capturingClient{SecretInterface: client.CoreV1().Secrets(d.namespaceOf(s, rel)), change: func(secret *corev1.Secret) error {
		secret.UID, secret.ResourceVersion = s.secret.UID, s.secret.ResourceVersion
		secret.Labels["status"] = s.contents.Head.Status.String()
		setUnusedParts(secret, s.unusedParts)
		return nil
	}}
	if create {
		err = d.helm(c).Create(key, stand)
	} else {
		err = d.helm(c).Update(key, stand)
	}
	if err != nil {
		d.forget(key)
		return nil, err
	}
	d.client.Forget(key)
	written := &storedRevision{secret: c.secrets[0], contents: s.contents, unusedParts: s.unusedParts}
	d.remember(written)
	return written, nil
}

// namespaceOf returns the namespace of the Secret of a revision.
func (d *Driver) namespaceOf(s *storedRevision, rel *release.Release) string {
	switch {
	case s.secret.Namespace != "":
		return s.secret.Namespace
	case d.options.Namespace != "":
		return d.options.Namespace
	}
	return rel.Namespace
}

// deleteParts deletes parts to which the stored revision no longer refers. A failure is only
// logged: the next write tries it again.
func (d *Driver) deleteParts(ctx context.Context, s *storedRevision, parts []string) {
	if len(parts) == 0 {
		return
	}
	client, err := d.connect()
	if err == nil {
		store := releaseparts.SecretStore{Client: client}
		err = store.Delete(ctx, s.owner(), parts)
	}
	if err != nil {
		d.options.Log("warning: failed to delete unused parts of %s: %s", s.secret.Name, err)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.revisions[s.secret.Name] == s {
		d.revisions[s.secret.Name] = &storedRevision{secret: s.secret, contents: s.contents}
	}
}

// newPrefix returns the beginning of the names of the parts that one write creates. It is unique,
// so that no other write refers to these parts, or deletes them, until this one is finished.
func newPrefix(key string) string {
	const chars = 8
	return key + "." + strings.ToLower(rand.Text()[:chars])
}
