// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasestatus

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/internal/chunkedsecret"
	"github.com/ordered-helm/helm/internal/crdstorage"
	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/releaseapi"
)

// namedDriver is a storage driver that has only a name.
type namedDriver struct {
	driver.Driver
	name string
}

func (d namedDriver) Name() string { return d.name }

// newReader returns a Reader for a driver, and its API server. It checks that of Secrets and ConfigMaps, only the metadata is read.
func newReader(t *testing.T, d driver.Driver) (*Reader, *fakeapi.Server) {
	t.Helper()
	api := fakeapi.NewServer(t)
	config := &rest.Config{Host: "http://api", QPS: -1, Transport: &fakeapi.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if accepted := r.Header.Get("Accept"); strings.HasPrefix(r.URL.Path, "/api/v1/") && !strings.Contains(accepted, "as=PartialObjectMetadataList") {
			t.Errorf("%s asks for whole objects: %s", r.URL, accepted)
		}
		api.ServeHTTP(w, r)
	})}}
	return New(Options{
		Storage: storage.Init(d), Namespace: "shop", ConnectionString: "anything",
		Metadata: func() (metadata.Interface, error) { return metadata.NewForConfig(config) },
		Dynamic:  func() (dynamic.Interface, error) { return dynamic.NewForConfig(config) },
	}), api
}

// TestNewestInCluster checks what is read from the cluster.
//   - "only its labels are read (with crd, its Release)"
func TestNewestInCluster(t *testing.T) {
	for _, c := range []struct{ driver, resource, verb string }{
		{driver.SecretsDriverName, "secrets", "list"},
		{chunkedsecret.DriverName, "secrets", "list"},
		{driver.ConfigMapsDriverName, "configmaps", "list"},
		{crdstorage.DriverName, "releases", "get"},
	} {
		t.Run(c.driver, func(t *testing.T) {
			r, api := newReader(t, namedDriver{name: c.driver})
			put := func(namespace, name, version, status string) {
				gvr := schema.GroupVersionResource{Version: "v1", Resource: c.resource}
				text := fmt.Sprintf(`{apiVersion: v1, kind: Any, metadata: {name: sh.helm.release.v1.%[1]s.v%[2]s, namespace: %[3]s,
					labels: {owner: helm, name: %[1]s, version: "%[2]s", status: %[4]s}}}`, name, version, namespace, status)
				if c.driver == crdstorage.DriverName {
					gvr = releaseapi.ReleaseGVR()
					text = fmt.Sprintf(`{apiVersion: helm.sh/v1alpha1, kind: Release, metadata: {name: %s, namespace: %s}, status: {revision: %s, phase: %s}}`,
						name, namespace, version, status)
				}
				api.Put(gvr, fakeapi.Object(t, text))
			}
			put("data", "kafka", "9", "superseded")
			put("data", "kafka", "10", "pending-upgrade")
			put("data", "other", "11", "failed")
			put("shop", "kafka", "1", "deployed")
			for _, want := range []struct {
				namespace string
				revision  Revision
			}{
				{"data", Revision{10, release.StatusPendingUpgrade}},
				{"shop", Revision{1, release.StatusDeployed}},
				{"elsewhere", Revision{}},
			} {
				if got, err := r.Newest(t.Context(), want.namespace, "kafka"); err != nil || got != want.revision {
					t.Errorf("%s: got %+v, %v, want %+v", want.namespace, got, err, want.revision)
				}
			}
			if p := r.Permission(); p.Verb != c.verb || p.Resource.Resource != c.resource {
				t.Errorf("got the permission %+v", p)
			}
			if got := api.Count(c.verb + " " + c.resource); got != 3 || got != api.Count("") {
				t.Errorf("got requests %q", api.Requests())
			}
			api.Fail(c.verb+" "+c.resource, http.StatusForbidden)
			if _, err := r.Newest(t.Context(), "data", "kafka"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "release kafka in namespace data") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestNewestInMemory checks which releases the driver memory knows.
//   - "The driver memory knows only the releases in the namespace of the operation"
func TestNewestInMemory(t *testing.T) {
	memory := driver.NewMemory()
	r, _ := newReader(t, memory)
	for version, status := range map[int]release.Status{1: release.StatusSuperseded, 2: release.StatusDeployed} {
		rel := &release.Release{Name: "kafka", Namespace: "shop", Version: version, Info: &release.Info{Status: status}}
		if err := r.options.Storage.Create(rel); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := r.Newest(t.Context(), "shop", "kafka"); err != nil || got != (Revision{2, release.StatusDeployed}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := r.Newest(t.Context(), "shop", "other"); err != nil || got != (Revision{}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := r.Newest(t.Context(), "data", "kafka"); !errors.Is(err, errOtherNamespace) {
		t.Errorf("got %v", err)
	}
	if p := r.Permission(); p != (Permission{}) {
		t.Errorf("got the permission %+v", p)
	}
}

// fakeTable is a driver of database/sql whose table has one release, kafka in the namespace data.
type fakeTable struct{}

func (fakeTable) Open(string) (sqldriver.Conn, error) { return fakeTable{}, nil }

func (fakeTable) Prepare(string) (sqldriver.Stmt, error) { return nil, errors.New("not supported") }

func (fakeTable) Close() error { return nil }

func (fakeTable) Begin() (sqldriver.Tx, error) { return nil, errors.New("not supported") }

func (fakeTable) QueryContext(_ context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	if query != newestRow {
		return nil, errors.New("another query")
	}
	rows := &fakeRows{}
	if args[0].Value == "kafka" && args[1].Value == "data" {
		rows.left = 1
	}
	return rows, nil
}

type fakeRows struct{ left int }

func (*fakeRows) Columns() []string { return []string{"version", "status"} }

func (*fakeRows) Close() error { return nil }

func (r *fakeRows) Next(values []sqldriver.Value) error {
	if r.left == 0 {
		return io.EOF
	}
	r.left--
	values[0], values[1] = int64(4), "deployed"
	return nil
}

func TestNewestInTable(t *testing.T) {
	sql.Register("releasestatus-test", fakeTable{})
	r, _ := newReader(t, namedDriver{name: driver.SQLDriverName})
	r.sqlName = "releasestatus-test"
	if got, err := r.Newest(t.Context(), "data", "kafka"); err != nil || got != (Revision{4, release.StatusDeployed}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := r.Newest(t.Context(), "shop", "kafka"); err != nil || got != (Revision{}) {
		t.Errorf("got %+v, %v", got, err)
	}
}
