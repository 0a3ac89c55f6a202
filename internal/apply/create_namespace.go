// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/objectwriter"
)

// CreateNamespace creates the namespace of a release, with the label name, as Helm does. It
// does nothing if the namespace exists.
func CreateNamespace(ctx context.Context, c *cluster.Client, w objectwriter.Writer, name string) error {
	manifest, err := yaml.Marshal(&corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}},
	})
	if err != nil {
		return err
	}
	list, err := c.Build(manifest, true)
	if err != nil {
		return err
	}
	if _, err := w.Create(ctx, list); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}
