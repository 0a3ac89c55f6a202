// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package neededobjects finds the objects that a resource needs in order to become ready,
// because it refers to them. For example, a Deployment can refer to ConfigMaps. The package
// covers the kinds that are built into Kubernetes.
package neededobjects

import (
	"cmp"

	"github.com/ordered-helm/helm/internal/field"
)

// Reference identifies an object that a resource needs. Group is the API group of its
// kind. Namespace is empty for cluster-scoped objects.
type Reference struct{ Group, Kind, Namespace, Name string }

// Of returns the objects that a resource needs in order to become ready. kind, namespace and
// object are those of the resource. References that are marked as optional are omitted.
func Of(kind, namespace string, object map[string]any) []Reference {
	c := referenceCollector{namespace: namespace}
	if pod := PodSpec(kind, object); pod != nil {
		c.addPod(pod)
	}
	spec := field.Map(object, "spec")
	switch kind {
	case "StatefulSet":
		c.addLocal("Service", field.String(spec, "serviceName"))
		for _, claim := range field.Maps(spec, "volumeClaimTemplates") {
			c.addStorageClass(field.Map(claim, "spec"))
		}
	case "PersistentVolumeClaim":
		c.addStorageClass(spec)
	case "APIService":
		c.addService(field.Map(spec, "service"))
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		for _, hook := range field.Maps(object, "webhooks") {
			c.addService(field.Map(hook, "clientConfig", "service"))
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

// ClaimNames returns the names of the PersistentVolumeClaims that the pods of a workload use.
func ClaimNames(kind string, object map[string]any) []string {
	var names []string
	for _, volume := range field.Maps(PodSpec(kind, object), "volumes") {
		if name := field.String(field.Map(volume, "persistentVolumeClaim"), "claimName"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// referenceCollector collects the references of one resource.
type referenceCollector struct {
	namespace string
	refs      []Reference
}

func (c *referenceCollector) add(group, kind, namespace, name string) {
	if name != "" {
		c.refs = append(c.refs, Reference{Group: group, Kind: kind, Namespace: namespace, Name: name})
	}
}

// addLocal adds an object of the core API group in the namespace of the resource.
func (c *referenceCollector) addLocal(kind, name string) { c.add("", kind, c.namespace, name) }

func (c *referenceCollector) addStorageClass(claim map[string]any) {
	c.add("storage.k8s.io", "StorageClass", "", field.String(claim, "storageClassName"))
}

func (c *referenceCollector) addService(ref map[string]any) {
	c.add("", "Service", cmp.Or(field.String(ref, "namespace"), c.namespace), field.String(ref, "name"))
}

func (c *referenceCollector) addPod(spec map[string]any) {
	c.addLocal("ServiceAccount", ServiceAccountName(spec))
	for _, secret := range field.Maps(spec, "imagePullSecrets") {
		c.addLocal("Secret", field.String(secret, "name"))
	}
	c.add("scheduling.k8s.io", "PriorityClass", "", field.String(spec, "priorityClassName"))
	c.add("node.k8s.io", "RuntimeClass", "", field.String(spec, "runtimeClassName"))
	for _, v := range field.Maps(spec, "volumes") {
		c.addVolume(v)
	}
	for _, list := range []string{"initContainers", "containers"} {
		for _, container := range field.Maps(spec, list) {
			c.addContainer(container)
		}
	}
}

// ServiceAccountName returns the name of the service account in a pod spec: that in the
// current field or else that in the deprecated one. It is empty if neither is set.
func ServiceAccountName(spec map[string]any) string {
	return cmp.Or(field.String(spec, "serviceAccountName"), field.String(spec, "serviceAccount"))
}

func (c *referenceCollector) addVolume(v map[string]any) {
	c.addUnlessOptional("ConfigMap", field.Map(v, "configMap"), "name")
	c.addUnlessOptional("Secret", field.Map(v, "secret"), "secretName")
	c.addLocal("PersistentVolumeClaim", field.String(field.Map(v, "persistentVolumeClaim"), "claimName"))
	c.addStorageClass(field.Map(v, "ephemeral", "volumeClaimTemplate", "spec"))
	c.addLocal("Secret", field.String(field.Map(v, "csi", "nodePublishSecretRef"), "name"))
	for _, s := range field.Maps(field.Map(v, "projected"), "sources") {
		c.addUnlessOptional("ConfigMap", field.Map(s, "configMap"), "name")
		c.addUnlessOptional("Secret", field.Map(s, "secret"), "name")
	}
}

func (c *referenceCollector) addContainer(container map[string]any) {
	for _, s := range field.Maps(container, "envFrom") {
		c.addUnlessOptional("ConfigMap", field.Map(s, "configMapRef"), "name")
		c.addUnlessOptional("Secret", field.Map(s, "secretRef"), "name")
	}
	for _, e := range field.Maps(container, "env") {
		from := field.Map(e, "valueFrom")
		c.addUnlessOptional("ConfigMap", field.Map(from, "configMapKeyRef"), "name")
		c.addUnlessOptional("Secret", field.Map(from, "secretKeyRef"), "name")
	}
}

// addUnlessOptional adds the object of this kind that ref names in its field key, unless
// ref is marked as optional.
func (c *referenceCollector) addUnlessOptional(kind string, ref map[string]any, key string) {
	if !field.Bool(ref, "optional") {
		c.addLocal(kind, field.String(ref, key))
	}
}
