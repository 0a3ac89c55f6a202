// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fakeapi

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
)

// Info returns the resource.Info that Helm's client would build from the manifest of one
// object, but with a nil Client. A namespaced object whose manifest has no namespace gets the
// namespace "ns".
func Info(tb testing.TB, manifest string) *resource.Info {
	tb.Helper()
	u := Object(tb, manifest)
	gvk := u.GroupVersionKind()
	info := &resource.Info{Name: u.GetName(), Object: u, Mapping: &meta.RESTMapping{
		Resource:         gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"),
		GroupVersionKind: gvk, Scope: meta.RESTScopeNamespace,
	}}
	switch {
	case gvk.Kind == "Namespace" || gvk.Kind == "CustomResourceDefinition":
		info.Mapping.Scope = meta.RESTScopeRoot
		info.Namespace = u.GetNamespace() // as in Helm's client
	case u.GetNamespace() != "":
		info.Namespace = u.GetNamespace()
	default:
		info.Namespace = "ns"
	}
	return info
}

// Infos returns the result of Info for each manifest.
func Infos(tb testing.TB, manifests ...string) kube.ResourceList {
	tb.Helper()
	var list kube.ResourceList
	for _, manifest := range manifests {
		list.Append(Info(tb, manifest))
	}
	return list
}

// Names returns the kind and name of each object, as in "Pod/web".
func Names(list kube.ResourceList) []string {
	var all []string
	for _, info := range list {
		all = append(all, info.Mapping.GroupVersionKind.Kind+"/"+info.Name)
	}
	return all
}

// ConfigMap returns the manifest of a ConfigMap with the label app.kubernetes.io/managed-by.
// data contains the entries of its data in YAML, as in "a: b, c: d".
func ConfigMap(name, data string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", labels: {app.kubernetes.io/managed-by: Helm}}, data: {" + data + "}}"
}

// ConfigMaps returns the manifests of count ConfigMaps, with the names prefix-0, prefix-1
// and so on.
func ConfigMaps(count int, prefix string) []string {
	var all []string
	for i := range count {
		all = append(all, ConfigMap(fmt.Sprintf("%s-%d", prefix, i), "a: b"))
	}
	return all
}

// Pod returns the manifest of a Pod whose label "app" has the value app.
func Pod(name, app string) string {
	return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", labels: {app: " + app + "}}}"
}

// Workload returns the manifest of a Deployment, StatefulSet, Job, CronJob or object of a core
// kind, with the name "it". spec contains the fields of its spec in YAML, as in "a: b, c: d".
func Workload(kind, spec string) string {
	version := map[string]string{"Deployment": "apps/v1", "StatefulSet": "apps/v1", "Job": "batch/v1", "CronJob": "batch/v1"}[kind]
	if version == "" {
		version = "v1"
	}
	return "{apiVersion: " + version + ", kind: " + kind + ", metadata: {name: it}, spec: {" + spec + "}}"
}

// Forbidden returns the error with which an API server responds to a request without
// permission. Functions for WritableAPI.Fault can return it.
func Forbidden(c ReceivedCall) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: c.Path}, "", errors.New("not allowed"))
}

// Forbid returns a function for WritableAPI.Fault that returns the error of Forbidden for
// requests with the given verb whose Path begins with prefix.
func Forbid(verb, prefix string) func(ReceivedCall) error {
	return func(c ReceivedCall) error {
		if c.Verb == verb && strings.HasPrefix(c.Path, prefix) {
			return Forbidden(c)
		}
		return nil
	}
}

// FailFirst returns a function for WritableAPI.Fault that returns err for the first request
// with the given verb.
func FailFirst(verb string, err error) func(ReceivedCall) error {
	var done atomic.Bool
	return func(c ReceivedCall) error {
		if c.Verb != verb || done.Swap(true) {
			return nil
		}
		return err
	}
}
