// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package releasecrds installs the CustomResourceDefinitions of releases as Kubernetes objects,
// and writes a chart of them. Package releaseapi has the Go types.
package releasecrds

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/releaseapi"
)

// files contains the definitions, named as the objects, the roles, and the remaining files of
// the chart.
//
//go:embed definitions roles chart
var files embed.FS

const (
	definitionsDirectory = "definitions"
	rolesDirectory       = "roles"
	chartDirectory       = "chart"
	fileExtension        = ".yaml"
)

// Names returns the names of the definitions.
func Names() []string {
	return []string{releaseapi.ReleaseResource + "." + releaseapi.Group, releaseapi.ReleaseVersionResource + "." + releaseapi.Group}
}

// IsDefinition reports whether an object of a manifest is one of the definitions.
func IsDefinition(apiVersion, kind, name string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	return kind == "CustomResourceDefinition" && group == "apiextensions.k8s.io" && slices.Contains(Names(), name)
}

// YAML returns all definitions as YAML documents.
func YAML() ([]byte, error) {
	var all bytes.Buffer
	for _, name := range Names() {
		data, err := files.ReadFile(definitionsDirectory + "/" + name + fileExtension)
		if err != nil {
			return nil, fmt.Errorf("read the definition of %s: %w", name, err)
		}
		all.WriteString("---\n")
		all.Write(data)
	}
	return all.Bytes(), nil
}

// definitions returns the definitions, decoded.
func definitions() ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, name := range Names() {
		data, err := files.ReadFile(definitionsDirectory + "/" + name + fileExtension)
		if err != nil {
			return nil, fmt.Errorf("read the definition of %s: %w", name, err)
		}
		data, err = yaml.YAMLToJSON(data)
		definition := &unstructured.Unstructured{}
		if err == nil {
			err = definition.UnmarshalJSON(data)
		}
		if err != nil {
			return nil, fmt.Errorf("decode the definition of %s: %w", name, err)
		}
		all = append(all, definition)
	}
	return all, nil
}

// versionOf returns the version of a definition. isOurs is false if it has none, so that it was
// not written by Helm.
func versionOf(definition metav1.Object) (version int, isOurs bool) {
	version, err := strconv.Atoi(definition.GetAnnotations()[releaseapi.DefinitionsVersionAnnotation])
	return version, err == nil && version >= 0
}
