// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package podreferences finds the objects without which a pod cannot start, such as the
// ConfigMaps of its volumes, and recognizes messages of the server that report such objects
// as missing. In contrast to package internal/neededobjects, it also describes which field of
// the pod contains each reference.
package podreferences

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reference identifies an object that another object needs.
type Reference struct {
	Kind     schema.GroupKind
	Resource schema.GroupVersionResource
	// Namespace is empty for cluster-scoped objects.
	Namespace string
	Name      string
	// Field describes, for messages, where the other object contains the reference, as in:
	// volume "data".
	Field string
	// Reason is the reason that the kubelet gives if the object does not exist, such as
	// CreateContainerConfigError; empty if this is not known.
	Reason string
}

// New returns a reference to an object of a built-in kind. The API version of the kind must be
// v1, and its plural must be regular.
func New(kind schema.GroupKind, namespace, name, field string) Reference {
	resource, _ := meta.UnsafeGuessKindToResource(kind.WithVersion("v1"))
	return Reference{Kind: kind, Resource: resource, Namespace: namespace, Name: name, Field: field}
}

// ReportedMissing reports whether one of texts says that the object was not found, as in:
// configmap "settings" not found, or: storageclass.storage.k8s.io "fast" not found.
func (r Reference) ReportedMissing(texts ...string) bool {
	phrase := fmt.Sprintf("%s %q not found", strings.ToLower(r.Kind.String()), r.Name)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), phrase) })
}

// OfPod returns references to the ConfigMaps, Secrets and PersistentVolumeClaims without
// which a pod cannot start, in the order of the pod spec and without duplicates.
func OfPod(pod *corev1.Pod) []Reference {
	c := collector{namespace: pod.Namespace}
	for _, v := range pod.Spec.Volumes {
		c.volume(pod.Name, v)
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		c.environment(container)
	}
	return c.found
}

// ImagePullSecrets returns references to the Secrets for pulling the images of a pod, without
// duplicates.
func ImagePullSecrets(pod *corev1.Pod) []Reference {
	c := collector{namespace: pod.Namespace, field: "imagePullSecrets"}
	for _, secret := range pod.Spec.ImagePullSecrets {
		c.add("Secret", secret.Name)
	}
	return c.found
}

// collector collects the references of one pod. field and reason are the Field and the Reason
// of the references that are added next.
type collector struct {
	namespace, field, reason string
	found                    []Reference
}

// add adds a reference to an object of the core API group, unless the name is empty.
func (c *collector) add(kind, name string) {
	next := New(schema.GroupKind{Kind: kind}, c.namespace, name, c.field)
	next.Reason = c.reason
	isSame := func(r Reference) bool { return r.Kind == next.Kind && r.Name == name }
	if name != "" && !slices.ContainsFunc(c.found, isSame) {
		c.found = append(c.found, next)
	}
}

// addRequired does what add does, unless the reference is optional.
func (c *collector) addRequired(kind, name string, optional *bool) {
	if optional == nil || !*optional {
		c.add(kind, name)
	}
}

func (c *collector) volume(podName string, v corev1.Volume) {
	c.field = fmt.Sprintf("volume %q", v.Name)
	switch {
	case v.ConfigMap != nil:
		c.addRequired("ConfigMap", v.ConfigMap.Name, v.ConfigMap.Optional)
	case v.Secret != nil:
		c.addRequired("Secret", v.Secret.SecretName, v.Secret.Optional)
	case v.PersistentVolumeClaim != nil:
		c.add("PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName)
	case v.Ephemeral != nil:
		c.add("PersistentVolumeClaim", podName+"-"+v.Name)
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			if from := source.ConfigMap; from != nil {
				c.addRequired("ConfigMap", from.Name, from.Optional)
			}
			if from := source.Secret; from != nil {
				c.addRequired("Secret", from.Name, from.Optional)
			}
		}
	}
}

func (c *collector) environment(container corev1.Container) {
	c.field, c.reason = fmt.Sprintf("env of container %q", container.Name), "CreateContainerConfigError"
	for _, all := range container.EnvFrom {
		if from := all.ConfigMapRef; from != nil {
			c.addRequired("ConfigMap", from.Name, from.Optional)
		}
		if from := all.SecretRef; from != nil {
			c.addRequired("Secret", from.Name, from.Optional)
		}
	}
	for _, one := range container.Env {
		if one.ValueFrom == nil {
			continue
		}
		if from := one.ValueFrom.ConfigMapKeyRef; from != nil {
			c.addRequired("ConfigMap", from.Name, from.Optional)
		}
		if from := one.ValueFrom.SecretKeyRef; from != nil {
			c.addRequired("Secret", from.Name, from.Optional)
		}
	}
}
