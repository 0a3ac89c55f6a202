// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/wait"
)

// operation is an operation that applies CRDs to a fake API.
type operation struct {
	wait.Waiter
	cluster.Builder
	cluster.Discovery

	tb  testing.TB
	api *fakeapi.WritableAPI
	// established and served are the CRDs and the kinds for which the operation has waited.
	established, served []string
	// events contains the types of the events and their messages.
	events []string
}

func newOperation(tb testing.TB, live ...string) *operation {
	tb.Helper()
	api := fakeapi.NewWritableAPI(tb)
	api.Have(live...)
	return &operation{tb: tb, api: api}
}

// Build implements cluster.Builder.
func (o *operation) Build(manifest []byte, _ bool) (kube.ResourceList, error) {
	if len(manifest) == 0 {
		return nil, errors.New("empty")
	}
	return fakeapi.Infos(o.tb, strings.Split(string(manifest), "\n---\n")...), nil
}

// AwaitKinds implements cluster.Discovery.
func (o *operation) AwaitKinds(_ context.Context, kinds []schema.GroupVersionKind) error {
	for _, kind := range kinds {
		o.served = append(o.served, kind.Version+" "+kind.Kind)
	}
	return nil
}

// WaitEstablished implements wait.Waiter.
func (o *operation) WaitEstablished(_ context.Context, list kube.ResourceList) error {
	o.established = append(o.established, fakeapi.Names(list)...)
	return nil
}

func (o *operation) installer() *Installer {
	connection := cluster.Connect(o.api.Getter(), nil)
	return NewInstaller(Config{
		Cluster: &cluster.Client{Builder: o, Discovery: o, Reader: connection}, Writer: objectwriter.NewRequestWriter(connection), Waiter: o,
		Events: event.NewSink(func(e event.Event) {
			o.events = append(o.events, strings.TrimSpace(fmt.Sprint(e.Type, " ", e.Message)))
		}, nil),
		Release: object.OwningRelease{Name: "shop", Namespace: "shops"}, Log: o.tb.Logf,
	})
}

// files returns the files of a chart, named a.yaml, b.yaml and so on.
func files(texts ...string) []chart.CRD {
	var list []chart.CRD
	for i, text := range texts {
		name := "crds/" + string(rune('a'+i)) + ".yaml"
		list = append(list, chart.CRD{Name: name, Filename: "shop/" + name, File: &chart.File{Name: name, Data: []byte(text)}})
	}
	return list
}

// TestApply checks the requests and the events of applying definitions.
//   - "If nothing differs, apply sends one list request for definitions, and no other request"
//   - "Otherwise it first sends a dry run of each new or changed definition"
//   - "Then the operation waits until the cluster serves all versions of the new and changed definitions"
func TestApply(t *testing.T) {
	gadgets := variant(t, widgets, `metadata: {name: gadgets.example.com}, spec: {names: {kind: Gadget, plural: gadgets}}`)
	const list, dryCreate, dryPatch = "list customresourcedefinitions", "create customresourcedefinitions/gadgets.example.com", "patch customresourcedefinitions/widgets.example.com"
	for _, tt := range []struct {
		name        string
		live, chart []string
		requests    []string
		changed     bool
		established []string
		served      []string
		events      []string
		err         string
	}{
		{name: "nothing to do", live: []string{liveVariant(t, "")}, chart: []string{widgets}, requests: []string{list}},
		{name: "no files"},
		{
			name: "new", chart: []string{gadgets}, requests: []string{list, dryCreate, dryCreate}, changed: true,
			established: []string{"CustomResourceDefinition/gadgets.example.com"}, served: []string{"v1 Gadget"},
			events: []string{"crds-started applying 1 CustomResourceDefinition", "crd-applied created", "crds-done 1 CustomResourceDefinition applied, and served by the cluster"},
		},
		{
			name: "changed", live: []string{liveVariant(t, "")}, chart: []string{variant(t, widgets, twoVersions)}, requests: []string{list, dryPatch, dryPatch}, changed: true,
			established: []string{"CustomResourceDefinition/widgets.example.com"}, served: []string{"v1 Widget", "v2 Widget"},
			events: []string{"crds-started applying 1 CustomResourceDefinition", "crd-applied changed", "crds-done 1 CustomResourceDefinition applied, and served by the cluster"},
		},
		{
			name: "one of two is refused", live: []string{liveVariant(t, "")}, chart: []string{gadgets, variant(t, widgets, "spec: {scope: Cluster}")},
			requests: []string{list, dryCreate}, err: "CustomResourceDefinition widgets.example.com (shop/crds/b.yaml): spec.scope cannot be changed",
		},
		{
			name: "not established yet", live: []string{liveVariant(t, "status: {conditions: []}")}, chart: []string{widgets}, requests: []string{list},
			established: []string{"CustomResourceDefinition/widgets.example.com"}, served: []string{"v1 Widget"},
		},
		{
			name: "just created by somebody else", live: []string{liveVariant(t, `metadata: {creationTimestamp: "2999-01-01T00:00:00Z"}`)}, chart: []string{widgets},
			requests: []string{list}, served: []string{"v1 Widget"},
		},
		{name: "the same twice", live: []string{liveVariant(t, "")}, chart: []string{widgets, widgets}, requests: []string{list}},
		{
			name: "two declarations", live: []string{liveVariant(t, "")}, chart: []string{widgets, variant(t, widgets, moreFields)}, requests: []string{list},
			events: []string{"warning CustomResourceDefinition widgets.example.com is declared in shop/crds/a.yaml and, differently, in shop/crds/b.yaml: the first declaration is used"},
		},
		{
			name: "other objects", live: []string{liveVariant(t, ""), fakeapi.ConfigMap("old", "a: b")},
			chart:    []string{widgets + "\n---\n" + fakeapi.ConfigMap("new", "a: b"), fakeapi.ConfigMap("old", "a: c")},
			requests: []string{list, "create configmaps/new", "create configmaps/old"}, changed: true, established: []string{"ConfigMap/new"},
		},
		{name: "invalid file", live: []string{liveVariant(t, "")}, chart: []string{variant(t, widgets, twoVersions), ""}, err: "failed to install CRD crds/b.yaml: empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOperation(t, tt.live...)
			changed, err := o.installer().Apply(t.Context(), files(tt.chart...))
			if changed != tt.changed || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %v, %v, want %v, %q", changed, err, tt.changed, tt.err)
			}
			for what, lists := range map[string][2][]string{
				"requests": {o.api.Requests(), tt.requests}, "established": {o.established, tt.established}, "served": {o.served, tt.served}, "events": {o.events, tt.events},
			} {
				if !slices.Equal(lists[0], lists[1]) {
					t.Errorf("%s: got %q, want %q", what, lists[0], lists[1])
				}
			}
		})
	}
}

// TestRejectedDefinitions checks that no CRD is written if the server rejects one in the dry run.
//   - "If one of the definitions must not be changed, or the server rejects it, none is changed"
func TestRejectedDefinitions(t *testing.T) {
	gadgets := variant(t, widgets, `metadata: {name: gadgets.example.com}`)
	for name, tt := range map[string]struct {
		response error
		refused  bool
	}{
		"invalid":                 {apierrors.NewInvalid(schema.GroupKind{Kind: object.CRDKind}, "widgets.example.com", nil), true},
		"forbidden":               {fakeapi.Forbidden(fakeapi.ReceivedCall{}), true},
		"webhook without dry run": {apierrors.NewBadRequest("admission webhook w does not support dry run"), false},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOperation(t, liveVariant(t, ""))
			o.api.Fault = func(c fakeapi.ReceivedCall) error {
				if c.Verb == "patch" && c.URL.Query().Has("dryRun") {
					return tt.response
				}
				return nil
			}
			_, err := o.installer().Apply(t.Context(), files(gadgets, variant(t, widgets, moreFields)))
			refused, is := errors.AsType[*RefusedError](err)
			if is != tt.refused || err == nil == tt.refused || is && (len(refused.Refusals) != 1 || refused.Refusals[0].Name != "widgets.example.com") {
				t.Errorf("got %v", err)
			}
			if written := o.api.Get(fakeapi.Info(t, gadgets)) != nil; written == tt.refused {
				t.Errorf("the other definition was written: %v", written)
			}
		})
	}
}

// TestConcurrentChange checks that a CRD that somebody else changes at the same time is compared
// and checked again.
func TestConcurrentChange(t *testing.T) {
	for name, tt := range map[string]struct {
		meanwhile string
		err       string
	}{
		"harmless":       {`metadata: {annotations: {a: b}}`, ""},
		"stored version": {`status: {storedVersions: [v1, v0]}`, "objects may be stored in version v0"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOperation(t, liveVariant(t, ""))
			var once bool
			o.api.Fault = func(c fakeapi.ReceivedCall) error {
				if c.Verb == "patch" && !c.URL.Query().Has("dryRun") && !once {
					once = true
					o.api.Have(liveVariant(t, tt.meanwhile))
				}
				return nil
			}
			_, err := o.installer().Apply(t.Context(), files(variant(t, widgets, moreFields)))
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("got %v", err)
			}
			live := o.api.Get(fakeapi.Info(t, widgets))
			schemaOf, _, _ := unstructured.NestedSlice(live.Object, "spec", "versions")
			if changed := strings.Contains(fmt.Sprint(schemaOf), "color"); changed != (err == nil) || name == "harmless" && live.GetAnnotations()["a"] != "b" {
				t.Errorf("got %v", live.Object)
			}
		})
	}
}

// TestListForbidden checks that an account that may only read single CRDs can apply them.
func TestListForbidden(t *testing.T) {
	o := newOperation(t, liveVariant(t, ""))
	o.api.Fault = func(c fakeapi.ReceivedCall) error {
		if c.Verb == "list" {
			return &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}}
		}
		return nil
	}
	changed, err := o.installer().Apply(t.Context(), files(widgets))
	if changed || err != nil || o.api.Count("get") != 1 {
		t.Errorf("got %v, %v after %q", changed, err, o.api.Requests())
	}
}

func TestDryRun(t *testing.T) {
	gadgets := variant(t, widgets, `metadata: {name: gadgets.example.com}`)
	gizmos := `metadata: {name: gizmos.example.com}`
	o := newOperation(t, liveVariant(t, ""), liveVariant(t, gizmos))
	results, others, err := o.installer().DryRun(t.Context(), files(
		gadgets, variant(t, widgets, moreFields)+"\n---\n"+fakeapi.ConfigMap("a", "b: c"), variant(t, widgets, gizmos), variant(t, widgets, gizmos, "spec: {scope: Cluster}")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprint(r.Info.Name, " ", r.Effect))
	}
	want := []string{
		fmt.Sprint("gadgets.example.com ", objectwriter.EffectCreated), fmt.Sprint("widgets.example.com ", objectwriter.EffectChanged),
		fmt.Sprint("gizmos.example.com ", objectwriter.EffectUnchanged),
	}
	if !slices.Equal(got, want) || len(others) != 1 || o.api.Len() != 2 {
		t.Errorf("got %q and %v, want %q; %d objects are stored", got, fakeapi.Names(others), want, o.api.Len())
	}
}
