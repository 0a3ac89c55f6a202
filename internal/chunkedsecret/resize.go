// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chunkedsecret

import (
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/releaseparts"
	"github.com/ordered-helm/helm/internal/releasestorage"
)

// releaseKey is the key of the release in the data of Helm's Secret.
const releaseKey = "release"

// prepareToGrow reads the Secret of a revision that fits into it, and that is to be replaced by a
// larger one. It adds the unknown fields of the stored release to the section with the new one.
func (d *Driver) prepareToGrow(ctx context.Context, s *storedRevision, next *contents, sections []releaseparts.Section) (*storedRevision, error) {
	client, err := d.connect()
	if err != nil {
		return nil, err
	}
	secret, err := client.CoreV1().Secrets(s.secret.Namespace).Get(ctx, s.secret.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("update: failed to update: %w", err)
	}
	text, err := new(releasestorage.Decoder).Text(secret.Data[releaseKey])
	if err != nil {
		return nil, fmt.Errorf("update: decode the stored release: %w", err)
	}
	if err := addUnknownFields(text, next, sections); err != nil {
		return nil, err
	}
	return &storedRevision{secret: secret, unusedParts: unusedParts(secret)}, nil
}

// keepUnknownFields adds the unknown fields in the stored section with the release to the section
// with the new one.
func (d *Driver) keepUnknownFields(ctx context.Context, s *storedRevision, next *contents, sections []releaseparts.Section) error {
	before, err := d.readSections(ctx, s, s.contents.References)
	if err != nil {
		return err
	}
	for _, section := range before {
		if section.Name == releaseparts.ReleaseSection {
			return addUnknownFields(section.Data, next, sections)
		}
	}
	return nil
}

func addUnknownFields(before []byte, next *contents, sections []releaseparts.Section) error {
	for i, section := range sections {
		if section.Name != releaseparts.ReleaseSection {
			continue
		}
		with, kept, err := releasestorage.KeepUnknownFields(before, section.Data)
		if err != nil {
			return err
		}
		sections[i].Data, next.HasUnknownFields = with, kept
	}
	return nil
}

// shrink replaces the stored revision s, which has sections, by one that fits into one Secret.
// sections are those of the new one, with unknown fields.
func (d *Driver) shrink(ctx context.Context, s *storedRevision, rel *release.Release, sections []releaseparts.Section) error {
	client, err := d.connect()
	if err != nil {
		return err
	}
	obsolete := s.allParts()
	c := &capturingClient{SecretInterface: client.CoreV1().Secrets(d.namespaceOf(s, rel)), change: func(secret *corev1.Secret) error {
		secret.UID, secret.ResourceVersion = s.secret.UID, s.secret.ResourceVersion
		setUnusedParts(secret, obsolete)
		if !s.contents.HasUnknownFields {
			return nil
		}
		return encodeWithUnknownFields(secret, sections)
	}}
	key := s.secret.Name
	if err := d.helm(c).Update(key, rel); err != nil {
		d.forget(key)
		return err
	}
	d.client.Forget(key)
	written := &storedRevision{secret: withoutData(c.secrets[0]), unusedParts: obsolete}
	d.remember(written)
	d.deleteParts(ctx, written, obsolete)
	return nil
}

// encodeWithUnknownFields adds the unknown fields in the section with the release to the release
// in a Secret.
func encodeWithUnknownFields(secret *corev1.Secret, sections []releaseparts.Section) error {
	text, err := new(releasestorage.Decoder).Text(secret.Data[releaseKey])
	if err != nil {
		return err
	}
	for _, section := range sections {
		if section.Name != releaseparts.ReleaseSection {
			continue
		}
		with, _, err := releasestorage.KeepUnknownFields(section.Data, text)
		if err != nil {
			return err
		}
		encoded, err := releasestorage.Encode(with)
		if err != nil {
			return err
		}
		secret.Data[releaseKey] = []byte(encoded)
	}
	return nil
}
