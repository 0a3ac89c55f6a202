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
)

const (
	// missing is the reason of a Cause that is an object which does not exist.
	missing = "MissingObject"
	// maxLookups is how many objects are looked up for one subject.
	maxLookups = 20
)

// object is something that another object names.
type object struct {
	kind            schema.GroupKind
	resource        schema.GroupVersionResource
	namespace, name string
}

func (o object) String() string {
	return ref{kind: o.kind.Kind, namespace: o.namespace, name: o.name}.String()
}

// need is an object that must exist, and what names it.
type need struct {
	object
	by string
}

// namespaced is a ConfigMap, Secret, PersistentVolumeClaim, ServiceAccount or
// Service.
func namespaced(kind, namespace, name string) object {
	resource := schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(kind) + "s"}
	return object{kind: schema.GroupKind{Kind: kind}, resource: resource, namespace: namespace, name: name}
}

func clusterWide(kind string, resource schema.GroupVersionResource, name string) object {
	return object{kind: schema.GroupKind{Group: resource.Group, Kind: kind}, resource: resource, name: name}
}

// missing reports those of the objects that do not exist. Where that cannot be
// looked up, a text from the server that says so counts.
func (w *walk) missing(ctx context.Context, at ref, needs []need, texts ...string) bool {
	found := false
	for _, n := range needs {
		there, err := w.exists(ctx, n.object)
		if there || err != nil && !saysMissing(n.object, texts) {
			continue
		}
		found = true
		w.addMissing(at, n)
	}
	return found
}

func (w *walk) addMissing(at ref, n need) {
	message := fmt.Sprintf("%s does not exist", n.object)
	if n.by != "" {
		message += ", but " + n.by + " names it"
	}
	if w.DeployedLater != nil {
		if where := w.DeployedLater(n.kind, n.namespace, n.name); where != "" {
			message += "; this release deploys it only later: " + where
		}
	}
	w.add(at, finding{rank: concrete, key: message, Cause: Cause{Reason: missing, Message: message}})
}

func (w *walk) exists(ctx context.Context, o object) (bool, error) {
	if w.brief || w.lookups >= maxLookups {
		return false, errSpent
	}
	w.lookups++
	return exists(ctx, w, o.resource, o.namespace, o.name)
}

// saysMissing tells whether one of the texts says that the object was not found,
// such as: configmap "settings" not found, storageclass.storage.k8s.io "fast" not
// found.
func saysMissing(o object, texts []string) bool {
	phrase := fmt.Sprintf("%s %q not found", strings.ToLower(o.kind.String()), o.name)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), phrase) })
}

// needsOf lists what a pod cannot start without, each object once, in the order
// in which the pod names them.
func needsOf(pod *corev1.Pod) []need {
	c := collector{namespace: pod.Namespace, seen: map[object]bool{}}
	for n := range pod.Spec.Volumes {
		c.volume(pod, &pod.Spec.Volumes[n])
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for n := range containers {
			c.environment(&containers[n])
		}
	}
	return c.needs
}

// pullSecretsOf lists the Secrets by which a pod's images are pulled.
func pullSecretsOf(pod *corev1.Pod) []need {
	c := collector{namespace: pod.Namespace, seen: map[object]bool{}}
	for _, secret := range pod.Spec.ImagePullSecrets {
		c.add("Secret", secret.Name, nil, "imagePullSecrets")
	}
	return c.needs
}

type collector struct {
	namespace string
	needs     []need
	seen      map[object]bool
}

func (c *collector) add(kind, name string, optional *bool, by string) {
	o := namespaced(kind, c.namespace, name)
	if name == "" || optional != nil && *optional || c.seen[o] {
		return
	}
	c.seen[o] = true
	c.needs = append(c.needs, need{object: o, by: by})
}

func (c *collector) volume(pod *corev1.Pod, v *corev1.Volume) {
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

func (c *collector) environment(container *corev1.Container) {
	by := "the environment of container " + container.Name
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
