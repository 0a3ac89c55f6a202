// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"errors"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/object"
)

// TestRefusal checks which changes are refused.
//   - "spec.group, spec.scope and the names in spec.names (kind, plural, singular, listKind) cannot be changed"
//   - "a version that is in status.storedVersions cannot be removed"
//   - "a definition that is being deleted is not applied"
func TestRefusal(t *testing.T) {
	const (
		ofShop  = `metadata: {labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: shop, meta.helm.sh/release-namespace: shops}}`
		ofOther = `metadata: {labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: other, meta.helm.sh/release-namespace: shops}}`
	)
	for _, tt := range []struct {
		name, chart, live string
		unchanged         bool
		// want is part of the error; empty if there is none.
		want string
	}{
		{name: "other schema", chart: moreFields},
		{name: "other short names and categories", chart: `spec: {names: {shortNames: [x], categories: [all]}}`},
		{name: "new version", chart: twoVersions},
		{name: "version that is not stored any more", live: twoVersions},
		{name: "stored version", live: `status: {storedVersions: [v1alpha1, v1, v0]}`, want: "objects may be stored in version v1alpha1 and v0, which"},
		{name: "scope", chart: `spec: {scope: Cluster}`, want: "spec.scope cannot be changed from Namespaced to Cluster"},
		{name: "group", chart: `spec: {group: example.org}`, want: "spec.group cannot be changed from example.com to example.org"},
		{name: "kind", chart: `spec: {names: {kind: Wodget}}`, want: "spec.names.kind cannot be changed"},
		{name: "plural", chart: `spec: {names: {plural: wodgets}}`, want: "spec.names.plural cannot be changed"},
		{name: "singular", chart: `spec: {names: {singular: wodget}}`, want: "spec.names.singular cannot be changed"},
		{name: "kind of lists", chart: `spec: {names: {listKind: Wodgets}}`, want: "spec.names.listKind cannot be changed"},
		{name: "several reasons", chart: `spec: {scope: Cluster}`, live: `status: {storedVersions: [v0]}`, want: "delete the definition and all its objects first; objects may"},
		{name: "being deleted", live: `metadata: {deletionTimestamp: "2020-01-01T00:00:00Z"}`, unchanged: true, want: "it is being deleted"},
		{name: "other release", live: ofOther, want: "it differs, but it belongs to release other in namespace shops, which"},
		{name: "other release, unchanged", live: ofOther, unchanged: true},
		{name: "moved from the templates", live: ofShop, unchanged: true, want: "annotate it in the cluster with helm.sh/resource-policy=keep first"},
		{name: "moved from the templates, and kept", live: strings.Replace(ofShop, "annotations: {", "annotations: {helm.sh/resource-policy: keep, ", 1)},
		{name: "definition of releases", live: `metadata: {name: releases.helm.sh}`, want: `only "helm state init" changes it`},
		{name: "definition of releases, unchanged", live: `metadata: {name: releases.helm.sh}`, unchanged: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := refusal(declaredVariant(t, tt.chart), parsed(t, liveVariant(t, tt.live)), !tt.unchanged, object.OwningRelease{Name: "shop", Namespace: "shops"})
			switch {
			case (err == nil) != (tt.want == ""):
				t.Errorf("got %v, want %q", err, tt.want)
			case err != nil && !strings.Contains(err.Error(), tt.want):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestRefusedError(t *testing.T) {
	cause := errors.New("broken")
	err := &RefusedError{Refusals: []Refusal{{Name: "a", File: "shop/crds/a.yaml", Err: cause}, {Name: "b", File: "shop/crds/b.yaml", Err: errors.New("foreign")}}}
	const want = "the definitions of the chart cannot be applied; nothing was changed: CustomResourceDefinition a (shop/crds/a.yaml): broken; " +
		"CustomResourceDefinition b (shop/crds/b.yaml): foreign; to leave existing definitions as they are, use --crds=create"
	if err.Error() != want || !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

func TestResolve(t *testing.T) {
	for _, tt := range []struct {
		policy, want Policy
		skip         bool
		err          string
	}{
		{},
		{policy: Create, want: Create},
		{policy: Apply, want: Apply},
		{policy: Skip, want: Skip},
		{skip: true, want: Skip},
		{policy: Skip, skip: true, want: Skip},
		{policy: Apply, skip: true, err: "exclude each other"},
		{policy: Create, skip: true, err: "exclude each other"},
		{policy: "replace", err: `unknown policy "replace"`},
	} {
		got, err := tt.policy.Resolve(tt.skip)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q, skip %v: got %q, %v", tt.policy, tt.skip, got, err)
		}
	}
}
