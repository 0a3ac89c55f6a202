// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/yaml"
)

// snapshot returns a description of the namespace of the sandbox, the objects in it, and the
// cluster-scoped objects whose names contain that of the namespace. It waits until objects
// that are being deleted no longer exist.
func (s *server) snapshot(ctx context.Context) (string, error) {
	objects, err := s.objects(ctx)
	if err != nil {
		return "", err
	}
	texts := make([]string, 0, len(objects))
	for _, object := range objects {
		text, err := describeObject(object)
		if err != nil {
			return "", err
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return strings.Join(texts, "\n"), nil
}

// objects returns the objects for snapshot: all except those that isBookkeeping and isForeign
// exclude.
func (s *server) objects(ctx context.Context) ([]unstructured.Unstructured, error) {
	for {
		objects, err := s.list(ctx)
		if err != nil {
			return nil, err
		}
		leaving := slices.ContainsFunc(objects, func(o unstructured.Unstructured) bool {
			return o.GetDeletionTimestamp() != nil
		})
		if !leaving {
			return objects, nil
		}
		if err := pause(ctx); err != nil {
			return nil, fmt.Errorf("waiting for deleted objects to go away: %w", err)
		}
	}
}

func (s *server) list(ctx context.Context) ([]unstructured.Unstructured, error) {
	lists, err := s.discovery.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // other scenarios add and remove groups
		return nil, err
	}
	var objects []unstructured.Unstructured
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || s.isBookkeeping(resource, version) {
				continue
			}
			found, err := s.listKind(ctx, version.WithResource(resource.Name), resource.Namespaced)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", resource.Name, err)
			}
			objects = append(objects, found...)
		}
	}
	return objects, nil
}

// isBookkeeping reports whether objects of a kind are internal records of the cluster, such as
// events and leases.
func (s *server) isBookkeeping(resource metav1.APIResource, version schema.GroupVersion) bool {
	switch resource.Kind {
	case "Event", "Endpoints", "EndpointSlice", "Lease", "ControllerRevision", "PodMetrics":
		return true
	case "CustomResourceDefinition", "Namespace", "ClusterRole", "ClusterRoleBinding":
		return false
	}
	isOtherSandbox := strings.HasSuffix(version.Group, ".example.com") && !strings.HasPrefix(version.Group, s.namespace)
	return !resource.Namespaced || isOtherSandbox
}

func (s *server) listKind(ctx context.Context, kind schema.GroupVersionResource, namespaced bool) ([]unstructured.Unstructured, error) {
	var list *unstructured.UnstructuredList
	var err error
	if namespaced {
		list, err = s.dynamic.Resource(kind).Namespace(s.namespace).List(ctx, metav1.ListOptions{})
	} else {
		list, err = s.dynamic.Resource(kind).List(ctx, metav1.ListOptions{})
	}
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil, nil // the kind was deleted in between
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(o unstructured.Unstructured) bool {
		return s.isForeign(o, namespaced)
	}), nil
}

// isForeign reports whether an object exists by default, was created by a controller, or
// belongs to another sandbox.
func (s *server) isForeign(o unstructured.Unstructured, namespaced bool) bool {
	if metav1.GetControllerOfNoCopy(&o) != nil {
		return true
	}
	switch o.GetKind() + "/" + o.GetName() {
	case "ConfigMap/kube-root-ca.crt", "ServiceAccount/default":
		return true
	}
	return !namespaced && !strings.Contains(o.GetName(), s.namespace)
}

// describeObject returns an object as text, without fields whose values are random or depend
// on timing. It decodes stored releases.
func describeObject(o unstructured.Unstructured) (string, error) {
	title := fmt.Sprintf("object %s %s %s/%s", o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName())
	object := o.Object
	if labels := o.GetLabels(); labels["owner"] == "helm" {
		if err := decodeRelease(object); err != nil {
			return "", fmt.Errorf("%s: %w", title, err)
		}
		for _, key := range []string{"createdAt", "modifiedAt"} { // seconds since 1970
			if labels[key] != "" {
				unstructured.RemoveNestedField(object, "metadata", "labels", key)
			}
		}
	}
	removeRandomFields(object)
	text, err := yaml.Marshal(object)
	return title + "\n" + string(text), err
}

// removeRandomFields removes the fields whose values are random or depend on the timing of the
// API server and controllers.
func removeRandomFields(object map[string]any) {
	for _, field := range [][]string{
		{"status"}, // written by controllers at any time
		{"metadata", "uid"},
		{"metadata", "resourceVersion"},
		{"metadata", "creationTimestamp"},
		{"metadata", "labels", "topology.kubernetes.io/zone"}, // of the node that the scheduler chose
		{"metadata", "annotations", "deployment.kubernetes.io/revision"},
		{"metadata", "annotations", "pv.kubernetes.io/bind-completed"},
		{"metadata", "annotations", "pv.kubernetes.io/bound-by-controller"},
		{"metadata", "annotations", "volume.beta.kubernetes.io/storage-provisioner"},
		{"metadata", "annotations", "volume.kubernetes.io/storage-provisioner"},
		{"metadata", "annotations", "volume.kubernetes.io/selected-node"},
		{"spec", "clusterIP"},
		{"spec", "clusterIPs"},
		{"spec", "nodeName"},
		{"spec", "volumeName"},
	} {
		unstructured.RemoveNestedField(object, field...)
	}
	if annotations, found, _ := unstructured.NestedMap(object, "metadata", "annotations"); found && len(annotations) == 0 {
		unstructured.RemoveNestedField(object, "metadata", "annotations")
	}
	removeServiceAccountVolume(object)
	keepOwnManagers(object)
}

// removeServiceAccountVolume removes the volume with the token of the service account from a
// pod, because its name is random.
func removeServiceAccountVolume(object map[string]any) {
	if object["kind"] != "Pod" {
		return
	}
	unstructured.RemoveNestedField(object, "spec", "volumes")
	containers, _, _ := unstructured.NestedSlice(object, "spec", "containers")
	for _, container := range containers {
		if fields, ok := container.(map[string]any); ok {
			delete(fields, "volumeMounts")
		}
	}
	if len(containers) > 0 {
		_ = unstructured.SetNestedSlice(object, containers, "spec", "containers")
	}
}

// keepOwnManagers removes the entries in metadata.managedFields that are not of helm, and the
// timestamps of the others.
func keepOwnManagers(object map[string]any) {
	managers, _, _ := unstructured.NestedSlice(object, "metadata", "managedFields")
	managers = slices.DeleteFunc(managers, func(entry any) bool {
		fields, ok := entry.(map[string]any)
		if ok {
			delete(fields, "time")
		}
		return !ok || fields["manager"] != "helm"
	})
	if len(managers) == 0 {
		unstructured.RemoveNestedField(object, "metadata", "managedFields")
		return
	}
	_ = unstructured.SetNestedSlice(object, managers, "metadata", "managedFields")
}

// decodeRelease replaces the encoded release in a Secret or ConfigMap by its JSON, indented.
func decodeRelease(object map[string]any) error {
	packed, _, err := unstructured.NestedString(object, "data", "release")
	if err != nil {
		return err
	}
	data := []byte(packed)
	if object["kind"] == "Secret" {
		if data, err = base64.StdEncoding.DecodeString(packed); err != nil {
			return err
		}
	}
	if data, err = base64.StdEncoding.DecodeString(string(data)); err != nil {
		return err
	}
	unzip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	stored, err := io.ReadAll(unzip)
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, stored, "", "  "); err != nil {
		return err
	}
	return unstructured.SetNestedField(object, showFiles(indented.String()), "data", "release")
}

// fileData matches the encoded content of a file of the chart in a stored release.
var fileData = regexp.MustCompile(`"data": "([A-Za-z0-9+/=]*)"`)

// showFiles decodes the files in a stored release, so that rules apply to them.
func showFiles(stored string) string {
	return fileData.ReplaceAllStringFunc(stored, func(field string) string {
		text, err := base64.StdEncoding.DecodeString(fileData.FindStringSubmatch(field)[1])
		if err != nil {
			return field
		}
		return fmt.Sprintf("\"data\": %q", text)
	})
}
