// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaselist

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// ownerSelector selects the objects in which Helm stores releases.
	ownerSelector = "owner=helm"
	// releaseField is the key of the release in the data of such an object.
	releaseField = "release"
)

// storedRelease is a release in the form in which Helm's storage drivers store it.
type storedRelease struct {
	// namespace and name are those of the Secret or ConfigMap that contains the release.
	namespace, name string
	labels          map[string]string
	encoded         []byte
}

// readFunc reads all stored releases.
type readFunc func(ctx context.Context, opts Options) ([]storedRelease, error)

// readSecrets reads the releases that are stored in Secrets.
func readSecrets(ctx context.Context, opts Options) ([]storedRelease, error) {
	client, err := opts.Connect()
	if err != nil {
		return nil, err
	}
	list, err := client.CoreV1().Secrets(opts.Namespace).List(ctx, metav1.ListOptions{LabelSelector: ownerSelector})
	if err != nil {
		return nil, fmt.Errorf("list: failed to list: %w", err)
	}
	stored := make([]storedRelease, len(list.Items))
	for i, item := range list.Items {
		stored[i] = storedRelease{item.Namespace, item.Name, item.Labels, item.Data[releaseField]}
	}
	return stored, nil
}

// readConfigMaps reads the releases that are stored in ConfigMaps.
func readConfigMaps(ctx context.Context, opts Options) ([]storedRelease, error) {
	client, err := opts.Connect()
	if err != nil {
		return nil, err
	}
	list, err := client.CoreV1().ConfigMaps(opts.Namespace).List(ctx, metav1.ListOptions{LabelSelector: ownerSelector})
	if err != nil {
		opts.Log("list: failed to list: %s", err)
		return nil, err
	}
	stored := make([]storedRelease, len(list.Items))
	for i, item := range list.Items {
		stored[i] = storedRelease{item.Namespace, item.Name, item.Labels, []byte(item.Data[releaseField])}
	}
	return stored, nil
}
