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

// schemas knows of which kinds the server itself checks the fields, so that Helm
// does not. It is all that Helm reads the cluster's schema for, unless the server is
// an old one.
type schemas struct {
	getter Getter

	// own is whether the server checks the kinds of its own.
	own once[bool]

	mu sync.Mutex
	// read are the groups and versions whose schema was read, checked the kinds
	// found there.
	read    map[schema.GroupVersion]bool
	checked map[schema.GroupVersionKind]bool
	paths   map[string]openapi.GroupVersion
}

// checkedByServer reports whether that is so for all objects. Where it cannot be
// found out, it is not.
func (s *schemas) checkedByServer(list kube.ResourceList) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	kinds, missing := map[schema.GroupVersionKind]bool{}, map[schema.GroupVersion]bool{}
	for _, info := range list {
		kind := info.Mapping.GroupVersionKind
		if kinds[kind] || s.surelyChecked(kind) {
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
		if !s.checked[kind] {
			return false
		}
	}
	return true
}

// surelyChecked reports whether it is clear without the schema: a server that is new
// enough checks the fields of all kinds of its own.
func (s *schemas) surelyChecked(kind schema.GroupVersionKind) bool {
	if !scheme.Scheme.Recognizes(kind) {
		return false
	}
	checks, err := s.own.get(s.serverChecks)
	return err == nil && checks
}

// checksSince is the version since which every API server checks fields, whatever its
// configuration.
const checksSince = "1.27"

func (s *schemas) serverChecks() (bool, error) {
	client, err := s.getter.ToDiscoveryClient()
	if err != nil {
		return false, err
	}
	if client == nil {
		return false, errUnusual
	}
	server, err := client.ServerVersion()
	if err != nil {
		return false, err
	}
	parsed, err := version.ParseGeneric(server.GitVersion)
	return err == nil && parsed.AtLeast(version.MustParseGeneric(checksSince)), err
}

// readAll reads the schemas of groups and versions, side by side. The caller holds mu.
func (s *schemas) readAll(gvs []schema.GroupVersion) error {
	if s.paths == nil {
		client, err := s.getter.ToDiscoveryClient()
		if err != nil {
			return err
		}
		if client == nil {
			return errUnusual
		}
		// Not its own, which would keep all it reads.
		if s.paths, err = openapi.NewClient(client.RESTClient()).Paths(); err != nil {
			return err
		}
		s.read, s.checked = map[schema.GroupVersion]bool{}, map[schema.GroupVersionKind]bool{}
	}
	kinds := make([][]schema.GroupVersionKind, len(gvs))
	var g errgroup.Group
	g.SetLimit(goruntime.GOMAXPROCS(0)) // they are large
	for i, gv := range gvs {
		g.Go(func() (err error) {
			kinds[i], err = s.checkedKinds(gv)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		s.paths = nil // what was added meanwhile is found next time
		return err
	}
	for i, gv := range gvs {
		s.read[gv] = true
		for _, kind := range kinds[i] {
			s.checked[kind] = true
		}
	}
	return nil
}

// operations is what is read of a schema.
type operations map[string]struct {
	Patch *struct {
		Kind       schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		Parameters []struct{ Name, In string }
	}
}

// readOperations reads what comes before the descriptions of the kinds themselves,
// which are large.
func readOperations(data []byte) (operations, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if err := expect(d, json.Delim('{')); err != nil {
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
	return nil, errUnusual
}

// checkedKinds lists the kinds of a group and version of which the server checks the
// fields: patching them has a parameter for that.
func (s *schemas) checkedKinds(gv schema.GroupVersion) ([]schema.GroupVersionKind, error) {
	name := path.Join("apis", gv.Group, gv.Version)
	if gv.Group == "" {
		name = path.Join("api", gv.Version)
	}
	published, ok := s.paths[name]
	if !ok {
		return nil, errUnusual
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
