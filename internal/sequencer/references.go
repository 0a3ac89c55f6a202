// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import "cmp"

// references returns the objects that a resource needs to get ready, for kinds built into
// Kubernetes. It omits optional references.
func (b *builder) references(r *resource) []ID {
	c := referenceCollector{namespace: r.ID.Namespace}
	if r.ID.Namespace != b.namespace { // that one exists: the release is stored in it
		c.add("", "Namespace", "", r.ID.Namespace)
	}
	if pod := podSpec(r.ID.Kind, r.object); pod != nil {
		c.pod(pod)
	}
	spec := mapField(r.object, "spec")
	switch r.ID.Kind {
	case "StatefulSet":
		c.local("Service", stringField(spec, "serviceName"))
		for _, claim := range listField(spec, "volumeClaimTemplates") {
			c.storageClass(mapField(claim, "spec"))
		}
	case "PersistentVolumeClaim":
		c.storageClass(spec)
	case "APIService":
		c.service(mapField(spec, "service"))
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		for _, hook := range listField(r.object, "webhooks") {
			c.service(mapField(hook, "clientConfig", "service"))
		}
	}
	if definition, custom := b.definitions[[2]string{r.ID.Group, r.ID.Kind}]; custom {
		c.refs = append(c.refs, definition)
	}
	return c.refs
}

// podSpec returns the pod spec of a workload that is built into Kubernetes.
func podSpec(kind string, object map[string]any) map[string]any {
	switch kind {
	case "Pod":
		return mapField(object, "spec")
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController":
		return mapField(object, "spec", "template", "spec")
	case "CronJob":
		return mapField(object, "spec", "jobTemplate", "spec", "template", "spec")
	}
	return nil
}

// ClaimNames returns the names of the claims that the pods of a workload use.
func ClaimNames(r *PlannedResource) []string {
	var names []string
	for _, volume := range listField(podSpec(r.ID.Kind, r.object), "volumes") {
		if name := stringField(mapField(volume, "persistentVolumeClaim"), "claimName"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

type referenceCollector struct {
	namespace string
	refs      []ID
}

func (c *referenceCollector) add(group, kind, namespace, name string) {
	if name != "" {
		c.refs = append(c.refs, ID{Group: group, Kind: kind, Namespace: namespace, Name: name})
	}
}

// local adds an object of the core API in the namespace of the resource.
func (c *referenceCollector) local(kind, name string) { c.add("", kind, c.namespace, name) }

func (c *referenceCollector) storageClass(claim map[string]any) {
	c.add("storage.k8s.io", "StorageClass", "", stringField(claim, "storageClassName"))
}

func (c *referenceCollector) service(ref map[string]any) {
	c.add("", "Service", cmp.Or(stringField(ref, "namespace"), c.namespace), stringField(ref, "name"))
}

func (c *referenceCollector) pod(spec map[string]any) {
	c.local("ServiceAccount", serviceAccountName(spec))
	for _, secret := range listField(spec, "imagePullSecrets") {
		c.local("Secret", stringField(secret, "name"))
	}
	c.add("scheduling.k8s.io", "PriorityClass", "", stringField(spec, "priorityClassName"))
	c.add("node.k8s.io", "RuntimeClass", "", stringField(spec, "runtimeClassName"))
	for _, v := range listField(spec, "volumes") {
		c.volume(v)
	}
	for _, list := range []string{"initContainers", "containers"} {
		for _, container := range listField(spec, list) {
			c.container(container)
		}
	}
}

// serviceAccountName returns the service account of a pod spec. The field has an older
// name as well.
func serviceAccountName(spec map[string]any) string {
	return cmp.Or(stringField(spec, "serviceAccountName"), stringField(spec, "serviceAccount"))
}

func (c *referenceCollector) volume(v map[string]any) {
	c.source("ConfigMap", mapField(v, "configMap"), "name")
	c.source("Secret", mapField(v, "secret"), "secretName")
	c.local("PersistentVolumeClaim", stringField(mapField(v, "persistentVolumeClaim"), "claimName"))
	c.storageClass(mapField(v, "ephemeral", "volumeClaimTemplate", "spec"))
	c.local("Secret", stringField(mapField(v, "csi", "nodePublishSecretRef"), "name"))
	for _, s := range listField(mapField(v, "projected"), "sources") {
		c.source("ConfigMap", mapField(s, "configMap"), "name")
		c.source("Secret", mapField(s, "secret"), "name")
	}
}

func (c *referenceCollector) container(container map[string]any) {
	for _, s := range listField(container, "envFrom") {
		c.source("ConfigMap", mapField(s, "configMapRef"), "name")
		c.source("Secret", mapField(s, "secretRef"), "name")
	}
	for _, e := range listField(container, "env") {
		from := mapField(e, "valueFrom")
		c.source("ConfigMap", mapField(from, "configMapKeyRef"), "name")
		c.source("Secret", mapField(from, "secretKeyRef"), "name")
	}
}

// source adds the object that a reference names, unless the reference is optional.
func (c *referenceCollector) source(kind string, ref map[string]any, key string) {
	if !boolField(ref, "optional") {
		c.local(kind, stringField(ref, key))
	}
}
