// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// missing describes the referenced objects of a pod that do not exist.
type missing struct {
	// mount is the reason why the pod's volumes cannot be mounted, or empty.
	mount string
	// environment contains the reasons why the environments of containers are incomplete, by
	// name of the container.
	environment map[string]string
}

func (m missing) any() bool { return m.mount != "" || len(m.environment) > 0 }

// source looks up the objects that pods reference. If an object does not exist, it returns
// nil without an error.
type source interface {
	configMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
	secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	claim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error)
}

// checker checks the references of a pod.
type checker struct {
	source source
	pod    *corev1.Pod
}

// need describes a reference of a pod to a ConfigMap or Secret.
type need struct {
	name string
	// keys are the keys that must exist.
	keys     []string
	optional *bool
	// mount is true if the reference is that of a volume, false if it is that of an
	// environment.
	mount bool
}

// withoutKey returns the message of a kubelet about an object that does not contain a key.
func (n need) withoutKey(kind, namespace, key string) string {
	switch {
	case n.mount && kind == "Secret":
		return "references non-existent secret key: " + key
	case n.mount:
		return "configmap references non-existent config key: " + key
	default:
		return fmt.Sprintf("couldn't find key %s in %s %s/%s", key, kind, namespace, n.name)
	}
}

// check returns which referenced objects do not exist in the source.
func (c checker) check(ctx context.Context) (missing, error) {
	m := missing{environment: map[string]string{}}
	for _, v := range c.pod.Spec.Volumes {
		what, err := c.volume(ctx, v)
		if err != nil {
			return missing{}, err
		}
		if what != "" {
			m.mount = fmt.Sprintf("MountVolume.SetUp failed for volume %q : %s", v.Name, what)
			break
		}
	}
	for _, containers := range [][]corev1.Container{c.pod.Spec.InitContainers, c.pod.Spec.Containers} {
		for _, container := range containers {
			what, err := c.environment(ctx, container)
			if err != nil {
				return missing{}, err
			}
			if what != "" {
				m.environment[container.Name] = what
			}
		}
	}
	return m, nil
}

func (c checker) volume(ctx context.Context, v corev1.Volume) (string, error) {
	switch {
	case v.ConfigMap != nil:
		return c.configMap(ctx, need{v.ConfigMap.Name, itemKeys(v.ConfigMap.Items), v.ConfigMap.Optional, true})
	case v.Secret != nil:
		return c.secret(ctx, need{v.Secret.SecretName, itemKeys(v.Secret.Items), v.Secret.Optional, true})
	case v.PersistentVolumeClaim != nil:
		return c.claim(ctx, v.PersistentVolumeClaim.ClaimName)
	case v.Ephemeral != nil:
		return c.claim(ctx, c.pod.Name+"-"+v.Name)
	case v.Projected != nil:
		return c.projected(ctx, v.Projected)
	default:
		return "", nil
	}
}

func (c checker) projected(ctx context.Context, p *corev1.ProjectedVolumeSource) (string, error) {
	for _, s := range p.Sources {
		var what string
		var err error
		switch {
		case s.ConfigMap != nil:
			what, err = c.configMap(ctx, need{s.ConfigMap.Name, itemKeys(s.ConfigMap.Items), s.ConfigMap.Optional, true})
		case s.Secret != nil:
			what, err = c.secret(ctx, need{s.Secret.Name, itemKeys(s.Secret.Items), s.Secret.Optional, true})
		}
		if what != "" || err != nil {
			return what, err
		}
	}
	return "", nil
}

func (c checker) environment(ctx context.Context, container corev1.Container) (string, error) {
	for _, from := range container.EnvFrom {
		var what string
		var err error
		switch {
		case from.ConfigMapRef != nil:
			what, err = c.configMap(ctx, need{from.ConfigMapRef.Name, nil, from.ConfigMapRef.Optional, false})
		case from.SecretRef != nil:
			what, err = c.secret(ctx, need{from.SecretRef.Name, nil, from.SecretRef.Optional, false})
		}
		if what != "" || err != nil {
			return what, err
		}
	}
	for _, env := range container.Env {
		if env.ValueFrom == nil {
			continue
		}
		var what string
		var err error
		switch from := env.ValueFrom; {
		case from.ConfigMapKeyRef != nil:
			what, err = c.configMap(ctx, need{from.ConfigMapKeyRef.Name, []string{from.ConfigMapKeyRef.Key}, from.ConfigMapKeyRef.Optional, false})
		case from.SecretKeyRef != nil:
			what, err = c.secret(ctx, need{from.SecretKeyRef.Name, []string{from.SecretKeyRef.Key}, from.SecretKeyRef.Optional, false})
		}
		if what != "" || err != nil {
			return what, err
		}
	}
	return "", nil
}

func (c checker) configMap(ctx context.Context, n need) (string, error) {
	if n.optional != nil && *n.optional {
		return "", nil
	}
	object, err := c.source.configMap(ctx, c.pod.Namespace, n.name)
	if err != nil {
		return "", err
	}
	if object == nil {
		return fmt.Sprintf("configmap %q not found", n.name), nil
	}
	for _, key := range n.keys {
		_, text := object.Data[key]
		_, binary := object.BinaryData[key]
		if !text && !binary {
			return n.withoutKey("ConfigMap", c.pod.Namespace, key), nil
		}
	}
	return "", nil
}

func (c checker) secret(ctx context.Context, n need) (string, error) {
	if n.optional != nil && *n.optional {
		return "", nil
	}
	object, err := c.source.secret(ctx, c.pod.Namespace, n.name)
	if err != nil {
		return "", err
	}
	if object == nil {
		return fmt.Sprintf("secret %q not found", n.name), nil
	}
	for _, key := range n.keys {
		if _, ok := object.Data[key]; !ok {
			return n.withoutKey("Secret", c.pod.Namespace, key), nil
		}
	}
	return "", nil
}

func (c checker) claim(ctx context.Context, name string) (string, error) {
	object, err := c.source.claim(ctx, c.pod.Namespace, name)
	switch {
	case err != nil:
		return "", err
	case object == nil:
		return fmt.Sprintf("persistentvolumeclaim %q not found", name), nil
	case object.Status.Phase != corev1.ClaimBound:
		return fmt.Sprintf("persistentvolumeclaim %q is not bound", name), nil
	default:
		return "", nil
	}
}

func itemKeys(items []corev1.KeyToPath) []string {
	var keys []string
	for _, item := range items {
		keys = append(keys, item.Key)
	}
	return keys
}

// cached is a source that reads from caches, which can be outdated.
type cached struct {
	configMaps corelisters.ConfigMapLister
	secrets    corelisters.SecretLister
	claims     corelisters.PersistentVolumeClaimLister
}

func (s cached) configMap(_ context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return found(s.configMaps.ConfigMaps(namespace).Get(name))
}

func (s cached) secret(_ context.Context, namespace, name string) (*corev1.Secret, error) {
	return found(s.secrets.Secrets(namespace).Get(name))
}

func (s cached) claim(_ context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	return found(s.claims.PersistentVolumeClaims(namespace).Get(name))
}

// live is a source that reads from the API server.
type live struct {
	client kubernetes.Interface
}

func (s live) configMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return found(s.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{}))
}

func (s live) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return found(s.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{}))
}

func (s live) claim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	return found(s.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{}))
}

func found[T any](object *T, err error) (*T, error) {
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up the references of a pod: %w", err)
	}
	return object, nil
}
