// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package placeholder

import (
	"errors"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

func head() *releaseparts.Head {
	return &releaseparts.Head{
		Name: "shop", Namespace: "test", Revision: 3, Status: release.StatusDeployed,
		Chart: &chart.Metadata{Name: "web", Version: "1.2.0"}, Lease: &orderrecord.Lease{Revision: 3, ID: "x", Seconds: 45},
	}
}

func TestPlaceholder(t *testing.T) {
	rel := New("crd", head(), []byte("data"))
	if name, data := Of(rel); name != "crd" || string(data) != "data" {
		t.Errorf("got driver %q, data %q", name, data)
	}
	if rel.Info.Status != release.StatusPendingUpgrade || rel.Chart.Metadata.Name != "web" || rel.Version != 3 || !IsListed(rel) {
		t.Errorf("got %+v, chart %+v", rel.Info, rel.Chart.Metadata)
	}
	if err := rel.Chart.Metadata.Validate(); err != nil {
		t.Error(err)
	}
	withoutChart := head()
	withoutChart.Chart, withoutChart.Revision = nil, 1
	if rel := New("crd", withoutChart, nil); rel.Info.Status != release.StatusPendingInstall || rel.Chart.Metadata.Validate() != nil {
		t.Errorf("got %+v, chart %+v", rel.Info, rel.Chart.Metadata)
	}
	if err := Check(rel, "crd"); err != nil {
		t.Error(err)
	}
	err, _ := errors.AsType[*DriverError](Check(rel, "secret"))
	if err == nil || err.Error() != "release shop in namespace test is stored by the storage driver crd, not secret: set HELM_DRIVER=crd" {
		t.Errorf("got error %v", err)
	}
}

// TestOrdinaryReleases checks that releases which only resemble placeholders are none.
func TestOrdinaryReleases(t *testing.T) {
	annotated := New("crd", head(), nil)
	annotated.Manifest = "---\nkind: ConfigMap\n"
	notAnnotated := New("crd", head(), nil)
	notAnnotated.Chart.Metadata.Annotations = nil
	for name, rel := range map[string]*release.Release{
		"none": nil, "empty": {}, "no metadata": {Chart: &chart.Chart{}}, "only the annotation": annotated, "only the manifest": notAnnotated,
	} {
		if driverName, _ := Of(rel); driverName != "" {
			t.Errorf("%s: is a placeholder of %s", name, driverName)
		}
		if rel != nil && (Check(rel, "secret") != nil || CheckReadable(rel) != nil) {
			t.Errorf("%s: is rejected", name)
		}
	}
}

func TestUnreadable(t *testing.T) {
	rel := NewUnreadable(head(), errors.New("Secret x does not exist"))
	err, _ := errors.AsType[*UnreadableError](CheckReadable(rel))
	if err == nil || err.Release != "shop" || err.Revision != 3 || !strings.Contains(err.Error(), "Secret x does not exist") {
		t.Errorf("got error %v", err)
	}
	if record, err := orderrecord.Read(rel); err != nil || record.LeaseFor(3) == nil || rel.Info.Status != release.StatusDeployed {
		t.Errorf("got record %v, error %v, release %+v", record, err, rel)
	}
}
