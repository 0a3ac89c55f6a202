// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"encoding/json"
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
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi"
)

// schemas finds out for which kinds the server validates the fields of objects. For these,
// Helm's own validation, for which it reads the OpenAPI schema of the cluster, can be
// skipped.
type schemas struct {
	getter Getter

	// builtIn says whether the server validates its built-in kinds.
	builtIn once[bool]

	mu sync.Mutex
	// read has the API groups and versions whose schema was read. validated has the kinds
	// in them that the server validates. paths has where to read the schemas.
	read      map[schema.GroupVersion]bool
	validated map[schema.GroupVersionKind]bool
	paths     map[string]openapi.GroupVersion
}

// areValidated reports whether the server certainly validates the fields of all objects of
// a list.
func (s *schemas) areValidated(list kube.ResourceList) bool {
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

// isBuiltInValidated reports whether a kind is known to be validated without reading its
// schema: a server that is new enough validates the fields of all built-in kinds.
func (s *schemas) isBuiltInValidated(kind schema.GroupVersionKind) bool {
	if !scheme.Scheme.Recognizes(kind) {
		return false
	}
	validates, err := s.builtIn.get(s.serverValidates)
	return err == nil && validates
}

// minValidating is the first version in which every API server validates fields, regardless
// of its configuration.
const minValidating = "1.27"

func (s *schemas) serverValidates() (bool, error) {
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
	return err == nil && parsed.AtLeast(version.MustParseGeneric(minValidating)), err
}

// readAll reads the schemas of API groups and versions in parallel, and adds them to read
// and validated. The caller must have locked mu.
func (s *schemas) readAll(gvs []schema.GroupVersion) error {
	if s.paths == nil {
		client, err := s.getter.ToDiscoveryClient()
		if err != nil {
			return err
		}
		if client == nil {
			return errUnsupported
		}
		// Do not use the OpenAPI client of the discovery client, because it would cache
		// everything.
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
		s.paths = nil // read the paths again next time, to find groups that were added
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

// operations has the patch operations in an OpenAPI schema, by path. It is the only part of
// the schema that is needed.
type operations map[string]struct {
	Patch *struct {
		Kind       schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		Parameters []struct{ Name, In string }
	}
}

// readOperations reads the operations in an OpenAPI schema. It stops before the
// descriptions of the kinds, which are large.
func readOperations(data []byte) (operations, error) {
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
			var paths operations
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
// validates: their patch operation has the parameter fieldValidation.
func (s *schemas) validatedKinds(gv schema.GroupVersion) ([]schema.GroupVersionKind, error) {
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
