// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package reference finds the objects that a resource refers to and needs in order to
// become ready, for example the ConfigMaps of a Deployment. It covers the kinds built into
// Kubernetes.
package reference

import (
	"cmp"

	"github.com/ordered-helm/helm/internal/field"
)

// Reference names an object that a resource needs. Group is the API group of its kind.
// Namespace is empty for cluster-scoped objects.
type Reference struct{ Group, Kind, Namespace, Name string }

// Of returns the objects that a resource of this kind and namespace needs in order to
// become ready. It omits references that are marked as optional.
func Of(kind, namespace string, object map[string]any) []Reference {
	c := collector{namespace: namespace}
	if pod := PodSpec(kind, object); pod != nil {
		c.pod(pod)
	}
	spec := field.Map(object, "spec")
	switch kind {
	case "StatefulSet":
		c.local("Service", field.String(spec, "serviceName"))
		for _, claim := range field.Maps(spec, "volumeClaimTemplates") {
			c.storageClass(field.Map(claim, "spec"))
		}
	case "PersistentVolumeClaim":
		c.storageClass(spec)
	case "APIService":
		c.service(field.Map(spec, "service"))
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		for _, hook := range field.Maps(object, "webhooks") {
			c.service(field.Map(hook, "clientConfig", "service"))
		}
	}
	return c.refs
}

// PodSpec returns the pod spec in a workload, or nil if the kind is not a workload that is
// built into Kubernetes.
func PodSpec(kind string, object map[string]any) map[string]any {
	switch kind {
	case "Pod":
		return field.Map(object, "spec")
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController":
		return field.Map(object, "spec", "template", "spec")
	case "CronJob":
		return field.Map(object, "spec", "jobTemplate", "spec", "template", "spec")
	}
	return nil
}

// ClaimNames returns the names of the PersistentVolumeClaims that the pods of a workload
// use.
func ClaimNames(kind string, object map[string]any) []string {
	var names []string
	for _, volume := range field.Maps(PodSpec(kind, object), "volumes") {
		if name := field.String(field.Map(volume, "persistentVolumeClaim"), "claimName"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// collector collects the references of one resource.
type collector struct {
	namespace string
	refs      []Reference
}

func (c *collector) add(group, kind, namespace, name string) {
	if name != "" {
		c.refs = append(c.refs, Reference{Group: group, Kind: kind, Namespace: namespace, Name: name})
	}
}

// local adds a reference to a core object in the namespace of the resource.
func (c *collector) local(kind, name string) { c.add("", kind, c.namespace, name) }

func (c *collector) storageClass(claim map[string]any) {
	c.add("storage.k8s.io", "StorageClass", "", field.String(claim, "storageClassName"))
}

func (c *collector) service(ref map[string]any) {
	c.add("", "Service", cmp.Or(field.String(ref, "namespace"), c.namespace), field.String(ref, "name"))
}

func (c *collector) pod(spec map[string]any) {
	c.local("ServiceAccount", ServiceAccountName(spec))
	for _, secret := range field.Maps(spec, "imagePullSecrets") {
		c.local("Secret", field.String(secret, "name"))
	}
	c.add("scheduling.k8s.io", "PriorityClass", "", field.String(spec, "priorityClassName"))
	c.add("node.k8s.io", "RuntimeClass", "", field.String(spec, "runtimeClassName"))
	for _, v := range field.Maps(spec, "volumes") {
		c.volume(v)
	}
	for _, list := range []string{"initContainers", "containers"} {
		for _, container := range field.Maps(spec, list) {
			c.container(container)
		}
	}
}

// ServiceAccountName returns the service account that a pod spec names, in the current or
// in the deprecated field.
func ServiceAccountName(spec map[string]any) string {
	return cmp.Or(field.String(spec, "serviceAccountName"), field.String(spec, "serviceAccount"))
}

func (c *collector) volume(v map[string]any) {
	c.source("ConfigMap", field.Map(v, "configMap"), "name")
	c.source("Secret", field.Map(v, "secret"), "secretName")
	c.local("PersistentVolumeClaim", field.String(field.Map(v, "persistentVolumeClaim"), "claimName"))
	c.storageClass(field.Map(v, "ephemeral", "volumeClaimTemplate", "spec"))
	c.local("Secret", field.String(field.Map(v, "csi", "nodePublishSecretRef"), "name"))
	for _, s := range field.Maps(field.Map(v, "projected"), "sources") {
		c.source("ConfigMap", field.Map(s, "configMap"), "name")
		c.source("Secret", field.Map(s, "secret"), "name")
	}
}

func (c *collector) container(container map[string]any) {
	for _, s := range field.Maps(container, "envFrom") {
		c.source("ConfigMap", field.Map(s, "configMapRef"), "name")
		c.source("Secret", field.Map(s, "secretRef"), "name")
	}
	for _, e := range field.Maps(container, "env") {
		from := field.Map(e, "valueFrom")
		c.source("ConfigMap", field.Map(from, "configMapKeyRef"), "name")
		c.source("Secret", field.Map(from, "secretKeyRef"), "name")
	}
}

// source adds the object that ref names in its field key, unless ref is marked as optional.
func (c *collector) source(kind string, ref map[string]any, key string) {
	if !field.Bool(ref, "optional") {
		c.local(kind, field.String(ref, key))
	}
}
