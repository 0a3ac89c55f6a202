// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package servervalidation finds out for which kinds the server itself validates the fields of
// objects.
package servervalidation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	goruntime "runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi"
)

// errUnsupported means that the schema of the server cannot be used.
var errUnsupported = errors.New("the server does not say how it validates objects")

// Getter provides what is needed to ask the server.
type Getter interface {
	ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error)
}

// Validation finds out for which kinds the server itself validates the fields of
// objects. These kinds do not need Helm's validation, which reads the complete OpenAPI schema
// of the cluster.
type Validation struct {
	getter Getter

	mu sync.Mutex
	// builtIn is true if the server validates its built-in kinds; nil if this is not known yet.
	builtIn *bool
	// read is the set of API groups and versions whose schemas were read. validated is the
	// set of kinds in them that the server validates. paths maps the URL path of each API
	// group and version to its schema on the server.
	read      map[schema.GroupVersion]bool
	validated map[schema.GroupVersionKind]bool
	paths     map[string]openapi.GroupVersion
}

// New returns a Validation that asks the server of getter when this is first needed.
func New(getter Getter) *Validation { return &Validation{getter: getter} }

// AreValidated reports whether the server certainly validates the fields of all objects in
// list.
func (s *Validation) AreValidated(list kube.ResourceList) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	kinds, missing := map[schema.GroupVersionKind]bool{}, map[schema.GroupVersion]bool{}
	for _, info := range list {
		kind := info.Mapping.GroupVersionKind
		if kinds[kind] || s.isBuiltInValidated(kind) {
			continue
		}
		kinds[kind] = true
		if gv := kind.GroupVersion(); !s.read[gv] {
			missing[gv] = true
		}
	}
	if len(missing) > 0 && s.readAll(slices.Collect(maps.Keys(missing))) != nil {
		return false
	}
	for kind := range kinds {
		if !s.validated[kind] {
			return false
		}
	}
	return true
}

// isBuiltInValidated reports whether a kind is built in and the server is new enough to
// validate all built-in kinds. The schema of such a kind does not need to be read.
func (s *Validation) isBuiltInValidated(kind schema.GroupVersionKind) bool {
	if !scheme.Scheme.Recognizes(kind) {
		return false
	}
	if s.builtIn == nil {
		validates, err := s.serverValidates()
		if err != nil {
			return false
		}
		s.builtIn = &validates
	}
	return *s.builtIn
}

// minValidatingVersion is the first Kubernetes version in which the API server always
// validates fields, regardless of its configuration.
const minValidatingVersion = "1.27"

func (s *Validation) serverValidates() (bool, error) {
	client, err := s.getter.ToDiscoveryClient()
	if err != nil {
		return false, err
	}
	if client == nil {
		return false, errUnsupported
	}
	server, err := client.ServerVersion()
	if err != nil {
		return false, err
	}
	parsed, err := version.ParseGeneric(server.GitVersion)
	return err == nil && parsed.AtLeast(version.MustParseGeneric(minValidatingVersion)), err
}

// readAll reads the schemas of the API groups and versions gvs in parallel, and adds the
// results to read and validated. The caller must hold mu.
func (s *Validation) readAll(gvs []schema.GroupVersion) error {
	if s.paths == nil {
		client, err := s.getter.ToDiscoveryClient()
		if err != nil {
			return err
		}
		if client == nil {
			return errUnsupported
		}
		// The OpenAPI client of the discovery client is not used, because it would keep all
		// schemas in memory.
		if s.paths, err = openapi.NewClient(client.RESTClient()).Paths(); err != nil {
			return err
		}
		s.read, s.validated = map[schema.GroupVersion]bool{}, map[schema.GroupVersionKind]bool{}
	}
	kinds := make([][]schema.GroupVersionKind, len(gvs))
	var g errgroup.Group
	g.SetLimit(goruntime.GOMAXPROCS(0)) // schemas are large
	for i, gv := range gvs {
		g.Go(func() (err error) {
			kinds[i], err = s.validatedKinds(gv)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		s.paths = nil // read the paths again next time, because API groups may have been added
		return err
	}
	for i, gv := range gvs {
		s.read[gv] = true
		for _, kind := range kinds[i] {
			s.validated[kind] = true
		}
	}
	return nil
}

// patchOperations holds the PATCH operations of an OpenAPI schema, by URL path. No other part
// of the schema is needed.
type patchOperations map[string]struct {
	Patch *struct {
		Kind       schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		Parameters []struct{ Name, In string }
	}
}

// readOperations reads the PATCH operations of an OpenAPI schema. It does not read the rest
// of the schema, which describes the kinds and is large.
func readOperations(data []byte) (patchOperations, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if err := expectToken(d, json.Delim('{')); err != nil {
		return nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		if key == "paths" {
			var paths patchOperations
			err := d.Decode(&paths)
			return paths, err
		}
		var other json.RawMessage
		if err := d.Decode(&other); err != nil {
			return nil, err
		}
	}
	return nil, errUnsupported
}

// validatedKinds returns the kinds of an API group and version whose fields the server
// validates. These are the kinds whose PATCH operation has the parameter fieldValidation.
func (s *Validation) validatedKinds(gv schema.GroupVersion) ([]schema.GroupVersionKind, error) {
	name := path.Join("apis", gv.Group, gv.Version)
	if gv.Group == "" {
		name = path.Join("api", gv.Version)
	}
	published, ok := s.paths[name]
	if !ok {
		return nil, errUnsupported
	}
	data, err := published.Schema(runtime.ContentTypeJSON)
	if err != nil {
		return nil, err
	}
	paths, err := readOperations(data)
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", gv, err)
	}
	var kinds []schema.GroupVersionKind
	for _, at := range paths {
		if at.Patch == nil {
			continue
		}
		for _, parameter := range at.Patch.Parameters {
			if parameter.Name == "fieldValidation" && parameter.In == "query" {
				kinds = append(kinds, at.Patch.Kind)
			}
		}
	}
	return kinds, nil
}

// expectToken reads the next token, and returns an error if it is not the delimiter want.
func expectToken(d *json.Decoder, want json.Delim) error {
	got, err := d.Token()
	if err == nil && got != want {
		err = errUnsupported
	}
	return err
}
