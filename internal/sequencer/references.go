// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import "cmp"

// references lists the objects that a resource cannot get ready without, as
// far as Kubernetes' own kinds tell. Optional references are left out.
func (b *builder) references(r *resource) []ID {
	c := refCollector{namespace: r.ID.Namespace}
	if r.ID.Namespace != b.namespace { // which is there: the release is stored in it
		c.add("", "Namespace", "", r.ID.Namespace)
	}
	if pod := podSpec(r.ID.Kind, r.object); pod != nil {
		c.pod(pod)
	}
	spec := child(r.object, "spec")
	switch r.ID.Kind {
	case "StatefulSet":
		c.local("Service", text(spec, "serviceName"))
		for _, claim := range children(spec, "volumeClaimTemplates") {
			c.storageClass(child(claim, "spec"))
		}
	case "PersistentVolumeClaim":
		c.storageClass(spec)
	case "APIService":
		c.service(child(spec, "service"))
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		for _, hook := range children(r.object, "webhooks") {
			c.service(child(hook, "clientConfig", "service"))
		}
	}
	if definition, custom := b.definitions[[2]string{r.ID.Group, r.ID.Kind}]; custom {
		c.refs = append(c.refs, definition)
	}
	return c.refs
}

// podSpec finds the pod's spec in a workload of Kubernetes' own kinds.
func podSpec(kind string, object map[string]any) map[string]any {
	switch kind {
	case "Pod":
		return child(object, "spec")
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController":
		return child(object, "spec", "template", "spec")
	case "CronJob":
		return child(object, "spec", "jobTemplate", "spec", "template", "spec")
	}
	return nil
}

// ClaimNames names the claims that a workload's pods use, in its own namespace.
func ClaimNames(r *PlannedResource) []string {
	var names []string
	for _, volume := range children(podSpec(r.ID.Kind, r.object), "volumes") {
		if name := text(child(volume, "persistentVolumeClaim"), "claimName"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

type refCollector struct {
	namespace string
	refs      []ID
}

func (c *refCollector) add(group, kind, namespace, name string) {
	if name != "" {
		c.refs = append(c.refs, ID{Group: group, Kind: kind, Namespace: namespace, Name: name})
	}
}

// local adds an object of the core API in the resource's own namespace.
func (c *refCollector) local(kind, name string) { c.add("", kind, c.namespace, name) }

func (c *refCollector) storageClass(claim map[string]any) {
	c.add("storage.k8s.io", "StorageClass", "", text(claim, "storageClassName"))
}

func (c *refCollector) service(ref map[string]any) {
	c.add("", "Service", cmp.Or(text(ref, "namespace"), c.namespace), text(ref, "name"))
}

func (c *refCollector) pod(spec map[string]any) {
	c.local("ServiceAccount", accountOf(spec))
	for _, secret := range children(spec, "imagePullSecrets") {
		c.local("Secret", text(secret, "name"))
	}
	c.add("scheduling.k8s.io", "PriorityClass", "", text(spec, "priorityClassName"))
	c.add("node.k8s.io", "RuntimeClass", "", text(spec, "runtimeClassName"))
	for _, v := range children(spec, "volumes") {
		c.volume(v)
	}
	for _, list := range []string{"initContainers", "containers"} {
		for _, container := range children(spec, list) {
			c.container(container)
		}
	}
}

// accountOf is the service account of a pod's spec, which has an older name.
func accountOf(spec map[string]any) string {
	return cmp.Or(text(spec, "serviceAccountName"), text(spec, "serviceAccount"))
}

func (c *refCollector) volume(v map[string]any) {
	c.source("ConfigMap", child(v, "configMap"), "name")
	c.source("Secret", child(v, "secret"), "secretName")
	c.local("PersistentVolumeClaim", text(child(v, "persistentVolumeClaim"), "claimName"))
	c.storageClass(child(v, "ephemeral", "volumeClaimTemplate", "spec"))
	c.local("Secret", text(child(v, "csi", "nodePublishSecretRef"), "name"))
	for _, s := range children(child(v, "projected"), "sources") {
		c.source("ConfigMap", child(s, "configMap"), "name")
		c.source("Secret", child(s, "secret"), "name")
	}
}

func (c *refCollector) container(container map[string]any) {
	for _, s := range children(container, "envFrom") {
		c.source("ConfigMap", child(s, "configMapRef"), "name")
		c.source("Secret", child(s, "secretRef"), "name")
	}
	for _, e := range children(container, "env") {
		from := child(e, "valueFrom")
		c.source("ConfigMap", child(from, "configMapKeyRef"), "name")
		c.source("Secret", child(from, "secretKeyRef"), "name")
	}
}

// source adds what a reference names unless it is optional.
func (c *refCollector) source(kind string, ref map[string]any, key string) {
	if !truth(ref, "optional") {
		c.local(kind, text(ref, key))
	}
}
