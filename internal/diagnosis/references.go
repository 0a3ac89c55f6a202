// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
)

const (
	// reasonMissing is the Reason of a Cause that says that a referenced object does not
	// exist.
	reasonMissing = "MissingObject"
	// maxLookups is the maximum number of referenced objects that are read for one subject.
	maxLookups = 20
)

// objectKey identifies an object that another object refers to.
type objectKey struct {
	kind            schema.GroupKind
	resource        schema.GroupVersionResource
	namespace, name string
}

// reference says that an object needs another one to exist.
type reference struct {
	objectKey
	// field describes where the reference is, for the message; it can be empty.
	field string
}

// namespacedObject returns the key of an object of a namespaced kind in the core API group
// whose plural ends in "s", such as ConfigMap.
func namespacedObject(kind, namespace, name string) objectKey {
	resource := schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(kind) + "s"}
	return objectKey{kind: schema.GroupKind{Kind: kind}, resource: resource, namespace: namespace, name: name}
}

func clusterObject(kind string, resource schema.GroupVersionResource, name string) objectKey {
	return objectKey{kind: schema.GroupKind{Group: resource.Group, Kind: kind}, resource: resource, name: name}
}

// addMissingObjects adds a finding for each of the needed objects that does not exist, and
// returns true if there are any. If it cannot check whether an object exists, the object
// counts as missing if one of texts, which are messages of the server, says that it was not
// found.
func (w *walk) addMissingObjects(ctx context.Context, at ref, needs []reference, texts ...string) bool {
	found := false
	for _, n := range needs {
		there, err := w.objectExists(ctx, n.objectKey)
		if there || err != nil && !reportsNotFound(n.objectKey, texts) {
			continue
		}
		found = true
		w.addMissingObject(at, n)
	}
	return found
}

// addMissingObject adds the finding that an object which at refers to does not exist.
func (w *walk) addMissingObject(at ref, n reference) {
	name := n.name
	if n.namespace != "" && n.namespace != at.namespace {
		name = n.namespace + "/" + name
	}
	message := fmt.Sprintf("%s %q not found", n.kind.Kind, name)
	if n.field != "" {
		message += " (referenced by " + n.field + ")"
	}
	if w.DeployedLater != nil {
		if where := w.DeployedLater(n.kind, n.namespace, n.name); where != "" {
			message += "; this release deploys it later: " + where
		}
	}
	w.add(at, finding{rank: rankCause, key: message, Cause: Cause{Reason: reasonMissing, Message: message}})
}

// objectExists reports whether an object exists. It returns an error if it must not or
// cannot check.
func (w *walk) objectExists(ctx context.Context, o objectKey) (bool, error) {
	if w.brief || w.lookups >= maxLookups {
		return false, clusterreader.ErrLimitReached
	}
	w.lookups++
	return w.exists(ctx, o.resource, o.namespace, o.name)
}

// reportsNotFound reports whether one of texts contains a message that the object was not
// found, such as: configmap "settings" not found, or storageclass.storage.k8s.io "fast" not
// found.
func reportsNotFound(o objectKey, texts []string) bool {
	phrase := fmt.Sprintf("%s %q not found", strings.ToLower(o.kind.String()), o.name)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), phrase) })
}

// podReferences returns references to the ConfigMaps, Secrets and claims without which a
// pod cannot start, each once, in the order of the spec of the pod.
func podReferences(pod *corev1.Pod) []reference {
	c := referenceCollector{namespace: pod.Namespace, seen: map[objectKey]bool{}}
	for n := range pod.Spec.Volumes {
		c.volume(pod, &pod.Spec.Volumes[n])
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for n := range containers {
			c.environment(&containers[n])
		}
	}
	return c.references
}

// imagePullSecrets returns references to the Secrets with which the images of a pod are
// pulled.
func imagePullSecrets(pod *corev1.Pod) []reference {
	c := referenceCollector{namespace: pod.Namespace, seen: map[objectKey]bool{}}
	for _, secret := range pod.Spec.ImagePullSecrets {
		c.add("Secret", secret.Name, nil, "imagePullSecrets")
	}
	return c.references
}

// referenceCollector collects references of one pod. seen has the objects that are already
// in references.
type referenceCollector struct {
	namespace  string
	references []reference
	seen       map[objectKey]bool
}

// add adds a reference to an object, unless optional is true. by becomes the field of the
// reference.
func (c *referenceCollector) add(kind, name string, optional *bool, by string) {
	o := namespacedObject(kind, c.namespace, name)
	if name == "" || optional != nil && *optional || c.seen[o] {
		return
	}
	c.seen[o] = true
	c.references = append(c.references, reference{objectKey: o, field: by})
}

func (c *referenceCollector) volume(pod *corev1.Pod, v *corev1.Volume) {
	by := fmt.Sprintf("volume %q", v.Name)
	switch {
	case v.ConfigMap != nil:
		c.add("ConfigMap", v.ConfigMap.Name, v.ConfigMap.Optional, by)
	case v.Secret != nil:
		c.add("Secret", v.Secret.SecretName, v.Secret.Optional, by)
	case v.PersistentVolumeClaim != nil:
		c.add("PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName, nil, by)
	case v.Ephemeral != nil:
		c.add("PersistentVolumeClaim", pod.Name+"-"+v.Name, nil, by)
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			if from := source.ConfigMap; from != nil {
				c.add("ConfigMap", from.Name, from.Optional, by)
			}
			if from := source.Secret; from != nil {
				c.add("Secret", from.Name, from.Optional, by)
			}
		}
	}
}

func (c *referenceCollector) environment(container *corev1.Container) {
	by := fmt.Sprintf("env of container %q", container.Name)
	for _, all := range container.EnvFrom {
		if from := all.ConfigMapRef; from != nil {
			c.add("ConfigMap", from.Name, from.Optional, by)
		}
		if from := all.SecretRef; from != nil {
			c.add("Secret", from.Name, from.Optional, by)
		}
	}
	for _, one := range container.Env {
		if one.ValueFrom == nil {
			continue
		}
		if from := one.ValueFrom.ConfigMapKeyRef; from != nil {
			c.add("ConfigMap", from.Name, from.Optional, by)
		}
		if from := one.ValueFrom.SecretKeyRef; from != nil {
			c.add("Secret", from.Name, from.Optional, by)
		}
	}
}
