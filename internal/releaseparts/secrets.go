// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseparts

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// SecretType is the type of the Secrets with parts of releases.
	SecretType corev1.SecretType = "helm.sh/release-part.v1"
	// ReleaseLabel is the label of these Secrets with the name of the release.
	ReleaseLabel = "helm.sh/release"
	// RevisionLabel is the label of these Secrets with the revision.
	RevisionLabel = "helm.sh/revision"

	// partKey is the key of the part in the data of its Secret.
	partKey = "part"
	// maxRequests is the maximum number of requests at the same time.
	maxRequests = 4
)

// Owner is the revision to which parts belong.
type Owner struct {
	Namespace, Release string
	Revision           int
	// Reference identifies the object that owns the Secrets with the parts.
	Reference metav1.OwnerReference
}

// SecretStore stores sections in Secrets. These are immutable, so that a section is changed by
// storing it under other names.
type SecretStore struct {
	Client kubernetes.Interface
}

// Write creates the Secrets of those sections that are not stored yet. It can be repeated. If it
// fails, some of the Secrets may exist.
func (s *SecretStore) Write(ctx context.Context, owner Owner, sections []EncodedSection) error {
	var secrets []*corev1.Secret
	for _, section := range sections {
		for i, part := range section.parts {
			secrets = append(secrets, newSecret(owner, section.Reference.Secrets[i], part))
		}
	}
	return inParallel(ctx, len(secrets), func(ctx context.Context, i int) error {
		if err := s.create(ctx, secrets[i]); err != nil {
			return &PartError{Owner: owner, Secret: secrets[i].Name, Verb: "create", Err: err}
		}
		return nil
	})
}

// create creates a Secret, or confirms that it exists already.
func (s *SecretStore) create(ctx context.Context, secret *corev1.Secret) error {
	client := s.Client.CoreV1().Secrets(secret.Namespace)
	_, err := client.Create(ctx, secret, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	existing, err := client.Get(ctx, secret.Name, metav1.GetOptions{})
	if err == nil && !bytes.Equal(existing.Data[partKey], secret.Data[partKey]) {
		err = ErrAltered
	}
	return err
}

// Read reads sections. If a part is missing or was altered, the error is a *PartError.
func (s *SecretStore) Read(ctx context.Context, owner Owner, references []Reference) ([]Section, error) {
	names := SecretsOf(references)
	parts := make([][]byte, len(names))
	if err := inParallel(ctx, len(names), func(ctx context.Context, i int) (err error) {
		if parts[i], err = s.readPart(ctx, owner.Namespace, names[i]); err != nil {
			return &PartError{Owner: owner, Secret: names[i], Verb: "read", Err: err}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	sections := make([]Section, len(references))
	for i, r := range references {
		data, err := decompress(r, parts[:len(r.Secrets)])
		if err != nil {
			return nil, &PartError{Owner: owner, Secret: strings.Join(r.Secrets, ", "), Verb: "read", Err: fmt.Errorf("%w: %w", ErrAltered, err)}
		}
		sections[i] = Section{r.Section, data}
		parts = parts[len(r.Secrets):]
	}
	return sections, nil
}

// readPart returns the data of a Secret, whose digest is the end of its name.
func (s *SecretStore) readPart(ctx context.Context, namespace, name string) ([]byte, error) {
	secret, err := s.Client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, ErrMissing
	}
	if err != nil {
		return nil, err
	}
	data := secret.Data[partKey]
	if !strings.HasSuffix(name, "-"+partDigest(data)) {
		return nil, ErrAltered
	}
	return data, nil
}

// Delete deletes Secrets with parts of a release. Those that do not exist are no error.
func (s *SecretStore) Delete(ctx context.Context, owner Owner, secrets []string) error {
	return inParallel(ctx, len(secrets), func(ctx context.Context, i int) error {
		err := s.Client.CoreV1().Secrets(owner.Namespace).Delete(ctx, secrets[i], metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return &PartError{Owner: owner, Secret: secrets[i], Verb: "delete", Err: err}
		}
		return nil
	})
}

func newSecret(owner Owner, name string, part []byte) *corev1.Secret {
	immutable := true
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.Namespace, Name: name,
			Labels: map[string]string{
				"heritage": "helm", "app.kubernetes.io/component": "release-part",
				ReleaseLabel: owner.Release, RevisionLabel: strconv.Itoa(owner.Revision),
			},
			OwnerReferences: []metav1.OwnerReference{owner.Reference},
		},
		Type: SecretType, Immutable: &immutable, Data: map[string][]byte{partKey: part},
	}
}

// inParallel calls do with the numbers from 0 to n-1, at most maxRequests at the same time. After
// an error, it cancels the other calls, and returns the error.
func inParallel(ctx context.Context, n int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxRequests)
	for i := range n {
		group.Go(func() error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return do(ctx, i)
		})
	}
	return group.Wait()
}
