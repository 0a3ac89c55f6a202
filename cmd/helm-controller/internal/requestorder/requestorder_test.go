// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package requestorder

import (
	"errors"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/pkg/action"
)

// requestWith returns a HelmRequest with an order in JSON; empty if it has none.
func requestWith(order string) *v1alpha1.HelmRequest {
	r := &v1alpha1.HelmRequest{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	if order != "" {
		r.Spec.Order = &apiextensionsv1.JSON{Raw: []byte(order)}
	}
	return r
}

const head = "apiVersion: helm.sh/v1alpha1\n"

func TestRead(t *testing.T) {
	for _, c := range []struct{ name, order, want string }{
		{"no order", "", ""},
		{"no rules", `{}`, head + "kind: Order\n"},
		{"without apiVersion and kind", `{"charts":[{"path":"web","dependsOn":["db"]}]}`, head + "charts:\n- dependsOn:\n  - db\n  path: web\nkind: Order\n"},
		{"a whole order file", `{"kind":"Order","apiVersion":"helm.sh/v1alpha1","charts":[{"path":"db","hookScope":"chart"}]}`, head + "charts:\n- hookScope: chart\n  path: db\nkind: Order\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Read(requestWith(c.order))
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if got != nil {
					t.Errorf("got %+v", got)
				}
				return
			}
			if got == nil || got.Name != "spec.order" || string(got.Text) != c.want {
				t.Errorf("got %+v, want %s", got, c.want)
			}
		})
	}
}

// TestReadErrors reads orders that are invalid.
//   - "Messages call it spec.order"
func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ name, order, want string }{
		{"another kind", `{"kind":"ConfigMap"}`, `spec.order has apiVersion "helm.sh/v1alpha1" and kind "ConfigMap"`},
		{"another version", `{"apiVersion":"helm.sh/v7"}`, `apiVersion: "helm.sh/v7" is not supported`},
		{"unknown field", `{"charts":[{"path":"web","after":["db"]}]}`, "charts[0].after"},
		{"invalid value", `{"charts":[{"path":"web","hookScope":"all"}]}`, "charts[0].hookScope"},
		{"no object", `[]`, "spec.order: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Read(requestWith(c.order))
			if _, is := errors.AsType[*Error](err); !is || got != nil || !strings.HasPrefix(err.Error(), "spec.order") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %+v, %v, want %s", got, err, c.want)
			}
		})
	}
}

// releaseWith returns a release with an order record that contains the order file of the chart and, if given is
// not empty, a file that was given for the operation.
func releaseWith(t *testing.T, given string) *release.Release {
	t.Helper()
	rec := &orderrecord.Record{Revision: 1, Ordered: true, Charts: &sequencer.Chart{Name: "shop"}}
	if given != "" {
		rec.OrderFiles = append(rec.OrderFiles, orderrecord.OrderFile{Name: "spec.order", Chart: "shop", Given: true, Text: given})
	}
	rec.OrderFiles = append(rec.OrderFiles, orderrecord.OrderFile{Name: "shop/order.yaml", Chart: "shop", Text: head + "kind: Order\n"})
	ch, err := orderrecord.WithRecord(&chart.Chart{Metadata: &chart.Metadata{Name: "shop"}}, rec)
	if err != nil {
		t.Fatal(err)
	}
	return &release.Release{Name: "shop", Version: 2, Chart: ch}
}

// TestIsOrderOf compares orders of requests with those of releases.
func TestIsOrderOf(t *testing.T) {
	const first, other = head + "charts:\n- dependsOn:\n  - db\n  path: web\nkind: Order\n", head + "charts:\n- dependsOn:\n  - web\n  path: db\nkind: Order\n"
	for _, c := range []struct {
		name, desired, recorded string
		want                    bool
	}{
		{"neither", "", "", true},
		{"the same", first, first, true},
		{"the same, formatted differently", first, "kind: Order\napiVersion: helm.sh/v1alpha1\ncharts: [{path: web, dependsOn: [db]}] # as ever\n", true},
		{"another one", first, other, false},
		{"added", first, "", false},
		{"removed", "", first, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var file *action.OrderFile
			if c.desired != "" {
				file = &action.OrderFile{Name: fileName, Text: []byte(c.desired)}
			}
			if got := IsOrderOf(file, releaseWith(t, c.recorded)); got != c.want {
				t.Errorf("IsOrderOf returns %v", got)
			}
			if got := IsSame(releaseWith(t, c.desired), releaseWith(t, c.recorded)); got != c.want {
				t.Errorf("IsSame returns %v", got)
			}
		})
	}
	if stock := (&release.Release{Name: "shop", Chart: &chart.Chart{}}); !IsOrderOf(nil, stock) || IsOrderOf(&action.OrderFile{Text: []byte(first)}, stock) {
		t.Error("a release without an order record has an order")
	}
}
