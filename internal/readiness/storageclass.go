// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/field"
)

const (
	waitForFirstConsumer = "WaitForFirstConsumer"
	waitForPodScheduled  = "WaitForPodScheduled" // the same mode, when a consumer exists but is not scheduled yet

	classAnnotation       = "volume.beta.kubernetes.io/storage-class"
	defaultAnnotation     = "storageclass.kubernetes.io/is-default-class"
	defaultBetaAnnotation = "storageclass.beta.kubernetes.io/is-default-class"
)

func storageClassResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
}

// StorageClasses determines the volume binding modes of PersistentVolumeClaims by reading
// their storage classes. It caches the mode of each class. If the account is not allowed to
// read storage classes, it looks for the event that the volume controller emits for a claim
// that waits for its first consumer. It is safe for concurrent use.
type StorageClasses struct {
	client dynamic.Interface

	// reading is locked while a class is read, so that each class is read once.
	reading sync.Mutex
	// mu guards the results.
	mu        sync.Mutex
	modes     map[string]VolumeBindingMode // by name of the class; the empty name is the default class
	forbidden map[string]error             // by name of the class; the response that forbids reading it
}

// NewStorageClasses returns a StorageClasses that sends its requests with client.
func NewStorageClasses(client dynamic.Interface) *StorageClasses {
	return &StorageClasses{client: client, modes: map[string]VolumeBindingMode{}, forbidden: map[string]error{}}
}

// BindingMode is a VolumeBindingModeFunc. It returns BindingUnknown if the storage class does
// not exist, or if the account is not allowed to read it and there is no event for the claim.
func (s *StorageClasses) BindingMode(ctx context.Context, claim *unstructured.Unstructured) (VolumeBindingMode, error) {
	name, given := className(claim)
	if given && name == "" {
		return BindsImmediately, nil // an empty class name means that only existing volumes can match
	}
	mode, err := s.modeOfClass(ctx, name)
	if !apierrors.IsForbidden(err) {
		return mode, err
	}
	return s.bindingModeFromEvents(ctx, claim, err)
}

// modeOfClass returns the mode of a storage class. It reads the class if the mode is not known yet.
func (s *StorageClasses) modeOfClass(ctx context.Context, name string) (VolumeBindingMode, error) {
	if mode, denied := s.known(name); mode != BindingUnknown || denied != nil {
		return mode, denied
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	if mode, denied := s.known(name); mode != BindingUnknown || denied != nil {
		return mode, denied
	}
	mode, err := s.readClass(ctx, name)
	s.remember(name, mode, err)
	return mode, err
}

// known returns what is known about a storage class: its mode, or the response that forbids reading it.
func (s *StorageClasses) known(name string) (mode VolumeBindingMode, denied error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.modes[name], s.forbidden[name]
}

// remember caches the result of reading a storage class: its mode, or that it is forbidden.
func (s *StorageClasses) remember(name string, mode VolumeBindingMode, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.modes[name] = mode
	if apierrors.IsForbidden(err) {
		s.forbidden[name] = err
	}
}

// className returns the name of the storage class of a PersistentVolumeClaim. given is false
// if the claim names none, so that the default class applies.
func className(claim *unstructured.Unstructured) (name string, given bool) {
	if name, given = claim.GetAnnotations()[classAnnotation]; given {
		return name, true
	}
	name, given = field.Get(claim.Object, "spec", "storageClassName").(string)
	return name, given
}

func (s *StorageClasses) readClass(ctx context.Context, name string) (VolumeBindingMode, error) {
	if name == "" {
		return s.readDefault(ctx)
	}
	class, err := s.client.Resource(storageClassResource()).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return BindingUnknown, nil
	case err != nil:
		return BindingUnknown, fmt.Errorf("reading storage class %s: %w", name, err)
	}
	return bindingMode(class), nil
}

// readDefault returns the mode of the default storage class. As in the API server, this is
// the newest class that is marked as default, or the first by name if several are equally new.
func (s *StorageClasses) readDefault(ctx context.Context) (VolumeBindingMode, error) {
	list, err := s.client.Resource(storageClassResource()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return BindingUnknown, fmt.Errorf("listing storage classes: %w", err)
	}
	var chosen *unstructured.Unstructured
	for n := range list.Items {
		class := &list.Items[n]
		if isDefault(class) && (chosen == nil || isPreferred(class, chosen)) {
			chosen = class
		}
	}
	if chosen == nil {
		return BindingUnknown, nil
	}
	return bindingMode(chosen), nil
}

// isPreferred reports whether the API server prefers the storage class a to b if both are
// marked as default.
func isPreferred(a, b *unstructured.Unstructured) bool {
	born, other := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if born.Equal(&other) {
		return a.GetName() < b.GetName()
	}
	return other.Before(&born)
}

func isDefault(class *unstructured.Unstructured) bool {
	annotations := class.GetAnnotations()
	return annotations[defaultAnnotation] == "true" || annotations[defaultBetaAnnotation] == "true"
}

func bindingMode(class *unstructured.Unstructured) VolumeBindingMode {
	if field.String(class.Object, "volumeBindingMode") == waitForFirstConsumer {
		return BindsOnFirstConsumer
	}
	return BindsImmediately
}

// bindingModeFromEvents looks for an event that says that a PersistentVolumeClaim waits for
// its first consumer. If there is none, it returns BindingUnknown, because the event may
// still be emitted. forbidden is the error with which the storage class could not be read.
func (s *StorageClasses) bindingModeFromEvents(ctx context.Context, claim *unstructured.Unstructured, forbidden error) (VolumeBindingMode, error) {
	selector := fields.Set{
		"involvedObject.kind": "PersistentVolumeClaim",
		"involvedObject.name": claim.GetName(),
	}
	if uid := claim.GetUID(); uid != "" {
		selector["involvedObject.uid"] = string(uid)
	}
	events := schema.GroupVersionResource{Version: "v1", Resource: "events"}
	list, err := s.client.Resource(events).Namespace(claim.GetNamespace()).List(ctx,
		metav1.ListOptions{FieldSelector: selector.AsSelector().String()})
	if err != nil {
		return BindingUnknown, errors.Join(forbidden, fmt.Errorf("listing the events of claim %s: %w", claim.GetName(), err))
	}
	for n := range list.Items {
		switch field.String(list.Items[n].Object, "reason") {
		case waitForFirstConsumer, waitForPodScheduled:
			return BindsOnFirstConsumer, nil
		}
	}
	return BindingUnknown, nil
}
