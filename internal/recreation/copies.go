// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package recreation

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
)

const (
	// secretType is the type of the Secrets that contain copies.
	secretType corev1.SecretType = "helm.sh/recreated-object.v1"
	// releaseLabel and revisionLabel are the labels with the release, and with the revision whose operation recreated
	// the object. objectLabel is the label with the end of the name of the Secret, which is different for each object,
	// and objectAnnotation names the object.
	releaseLabel     = "helm.sh/recreated-by"
	revisionLabel    = "helm.sh/recreated-by-revision"
	objectLabel      = "helm.sh/recreated-object-id"
	objectAnnotation = "helm.sh/recreated-object"
	// createdAnnotation says that the operation that deleted the object has also created it as declared, and
	// installedAnnotation when the release was installed.
	createdAnnotation   = "helm.sh/recreated-as-declared"
	installedAnnotation = "helm.sh/recreated-by-installed"
	// contentKey is the key of the object, as JSON in gzip.
	contentKey = "object"
)

// storedCopy is an object as it was before it was deleted, and the Secret in which this copy is stored.
type storedCopy struct {
	secret string
	// revision is the revision whose operation deleted the object.
	revision int
	live     *unstructured.Unstructured
	// created says that the operation has created the object as declared, so that it is not lost.
	created bool
	// installed says when the release was installed: a release that was installed later can have the same name and
	// revisions.
	installed string
}

func (c *storedCopy) id() sequencer.ID { return object.LiveID(c.live) }

// hasEnded reports whether the object was a Job or Pod that had completed or failed. Creating it again would run it
// again.
func (c *storedCopy) hasEnded() bool {
	switch c.live.GroupVersionKind().GroupKind().String() {
	case "Job.batch", "Pod":
		return readiness.ComputeCompletion(c.live).State != readiness.InProgress
	}
	return false
}

// Storage stores copies of objects in Secrets in the namespace of the release.
type Storage struct {
	client func() (kubernetes.Interface, error)
}

// NewStorage returns a Storage. client returns the client that sends its requests.
func NewStorage(client func() (kubernetes.Interface, error)) *Storage { return &Storage{client} }

func (s *Storage) secrets(namespace string) (typed.SecretInterface, error) {
	client, err := s.client()
	if err != nil {
		return nil, err
	}
	return client.CoreV1().Secrets(namespace), nil
}

// list returns the copies of objects of a release. There are none if the account is not allowed to list Secrets.
func (s *Storage) list(ctx context.Context, release object.OwningRelease) ([]*storedCopy, error) {
	secrets, err := s.secrets(release.Namespace)
	if err != nil {
		return nil, err
	}
	list, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: labels.Set{releaseLabel: release.Name}.String()})
	switch {
	case apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list the copies of recreated objects: %w", err)
	}
	var copies []*storedCopy
	for i := range list.Items {
		c, err := decode(&list.Items[i])
		if err != nil {
			return nil, fmt.Errorf("read the copy of a recreated object in Secret %s: %w", list.Items[i].Name, err)
		}
		copies = append(copies, c)
	}
	return copies, nil
}

// store stores a new copy.
func (s *Storage) store(ctx context.Context, release object.OwningRelease, c *storedCopy) error {
	secrets, err := s.secrets(release.Namespace)
	if err != nil {
		return err
	}
	secret, err := encode(c, release)
	if err != nil {
		return err
	}
	c.secret = secret.Name
	_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // an operation that was finished has failed to delete it
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	return err
}

// setCreated stores whether the object of a copy was created as declared.
func (s *Storage) setCreated(ctx context.Context, release object.OwningRelease, c *storedCopy, created bool) error {
	secrets, err := s.secrets(release.Namespace)
	if err != nil {
		return err
	}
	changed := *c
	changed.created = created
	secret, err := encode(&changed, release)
	if err != nil {
		return err
	}
	if _, err = secrets.Update(ctx, secret, metav1.UpdateOptions{}); err == nil {
		c.created = created
	}
	return err
}

// remove deletes copies.
func (s *Storage) remove(ctx context.Context, namespace string, copies []*storedCopy) error {
	secrets, err := s.secrets(namespace)
	if err != nil {
		return err
	}
	var problems []error
	for _, c := range copies {
		if err := secrets.Delete(ctx, c.secret, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// encode returns the Secret that contains a copy.
func encode(c *storedCopy, release object.OwningRelease) (*corev1.Secret, error) {
	content, err := json.Marshal(c.live.Object)
	if err != nil {
		return nil, err
	}
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	_, _ = w.Write(content) // a Buffer returns no errors
	_ = w.Close()
	id := c.id()
	name := fmt.Sprintf("%s.%s/%s/%s", id.Kind, id.Group, id.Namespace, id.Name)
	digest := sha256.Sum256([]byte(name))
	short := hex.EncodeToString(digest[:8])
	annotations := map[string]string{objectAnnotation: id.String(), installedAnnotation: c.installed}
	if c.created {
		annotations[createdAnnotation] = strconv.FormatBool(true)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: "sh.helm.recreated.v1." + release.Name + "." + short, Namespace: release.Namespace,
			Labels:      map[string]string{releaseLabel: release.Name, revisionLabel: strconv.Itoa(c.revision), objectLabel: short},
			Annotations: annotations,
		},
		Type: secretType, Data: map[string][]byte{contentKey: compressed.Bytes()},
	}, nil
}

// decode returns the copy in a Secret.
func decode(secret *corev1.Secret) (*storedCopy, error) {
	revision, err := strconv.Atoi(secret.Labels[revisionLabel])
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(secret.Data[contentKey]))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	c := &storedCopy{
		secret: secret.Name, revision: revision, live: &unstructured.Unstructured{},
		created: secret.Annotations[createdAnnotation] == strconv.FormatBool(true), installed: secret.Annotations[installedAnnotation],
	}
	return c, c.live.UnmarshalJSON(content)
}
