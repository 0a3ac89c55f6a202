// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chunkedsecret

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/placeholder"
	"github.com/ordered-helm/helm/internal/releaseparts"
	"github.com/ordered-helm/helm/internal/releasestorage"
)

// TestSmallReleases checks that a release that fits into one Secret is stored as by Helm's driver,
// with the same requests.
func TestSmallReleases(t *testing.T) {
	ours, stock := newCluster(), newCluster()
	drivers := map[*testCluster]driver.Driver{ours: ours.driver(t), stock: stock.stock()}
	for cluster, d := range drivers {
		releases := storage.Init(d)
		must(t, releases.Create(revision(1, release.StatusPendingInstall, small)))
		must(t, releases.Update(revision(1, release.StatusDeployed, small)))
		must(t, releases.Create(revision(2, release.StatusFailed, small)))
		for _, read := range []func() (any, error){
			func() (any, error) { return releases.Get("shop", 1) },
			func() (any, error) { return releases.History("shop") },
			func() (any, error) { return releases.Deployed("shop") },
			func() (any, error) { return releases.ListReleases() },
			func() (any, error) { return releases.Delete("shop", 2) },
		} {
			_, err := read()
			must(t, err)
		}
		secret := cluster.secret(t, key)
		delete(secret.Labels, "modifiedAt")
	}
	if got, want := strings.Join(ours.requests, "\n"), strings.Join(stock.requests, "\n"); got != want {
		t.Errorf("requests:\n%s\nof Helm's driver:\n%s", got, want)
	}
	got, want := ours.secret(t, key), stock.secret(t, key)
	if string(got.Data["release"]) != string(want.Data["release"]) || got.Type != want.Type || len(got.Data) != 1 || got.Annotations != nil {
		t.Errorf("got  %+v\nwant %+v", got.ObjectMeta, want.ObjectMeta)
	}
}

// TestLargeRelease stores a release that changes its size.
func TestLargeRelease(t *testing.T) {
	c := newCluster()
	d := c.driver(t)
	for _, step := range []struct {
		name string
		size int
		// newProcess says whether the driver has not read the revision before.
		newProcess bool
	}{
		{"created", large, false},
		{"with another status", large, false},
		{"with another file", large + 1, false},
		{"by a new process", large + 1, true},
		{"with another file, by a new process", large, true},
		{"shrunk", small, false},
		{"small", small, false},
		{"grown", large, false},
		{"shrunk by a new process", small, true},
		{"grown by a new process", large, true},
	} {
		t.Run(step.name, func(t *testing.T) {
			if step.newProcess {
				d = c.driver(t)
			}
			rel := revision(1, release.StatusDeployed, step.size)
			rel.Info.Description = step.name
			if step.name == "created" {
				must(t, d.Create(key, rel))
			} else {
				must(t, d.Update(key, rel))
			}
			c.expectStored(t, rel)
			c.expectParts(t, step.size >= large)
			if secret := c.secret(t, key); secret.Labels["status"] != "deployed" {
				t.Errorf("labels %v", secret.Labels)
			}
		})
	}
	if err := d.Create(key, revision(1, release.StatusFailed, large)); !errors.Is(err, driver.ErrReleaseExists) {
		t.Errorf("the revision is created twice: %v", err)
	}
	c.expectParts(t, true)
	if _, err := d.Delete(key); err != nil {
		t.Error(err)
	}
	c.expectParts(t, false)
	if _, err := d.Get(key); !errors.Is(err, driver.ErrReleaseNotFound) {
		t.Errorf("the deleted revision is read: %v", err)
	}
}

// TestHeartbeats checks that a write that changes only the head is one request.
func TestHeartbeats(t *testing.T) {
	c := newCluster()
	d := c.driver(t)
	must(t, d.Create(key, revision(1, release.StatusPendingInstall, large)))
	c.requests = nil
	for range 3 {
		must(t, d.Update(key, revision(1, release.StatusDeployed, large)))
	}
	want := []string{"update " + key, "update " + key, "update " + key}
	if !slices.Equal(c.requests, want) {
		t.Errorf("got %v", c.requests)
	}
}

// TestStatusOfLargeReleases checks that queries and lists use the status of the release, not that
// of the placeholder, and that lists read no parts of releases that they do not show.
func TestStatusOfLargeReleases(t *testing.T) {
	c := newCluster()
	releases := storage.Init(c.driver(t))
	must(t, releases.Create(revision(1, release.StatusSuperseded, large)))
	must(t, releases.Create(revision(2, release.StatusDeployed, large)))
	must(t, releases.Create(revision(3, release.StatusFailed, small)))
	releases = storage.Init(c.driver(t))
	deployed, err := releases.Deployed("shop")
	if err != nil || deployed.Version != 2 || deployed.Info.Status != release.StatusDeployed || deployed.Manifest == "" {
		t.Errorf("deployed: %v, %v", deployed, err)
	}
	history, err := releases.History("shop")
	if err != nil || len(history) != 3 || history[0].Info.Status != release.StatusSuperseded || history[0].Config == nil {
		t.Errorf("history: %v, %v", history, err)
	}
	c.requests = nil
	list, err := storage.Init(c.driver(t)).ListReleases()
	if err != nil || len(list) != 3 || list[1].Info.Status != release.StatusDeployed || list[1].Chart.Metadata.Version != "1.2.0" {
		t.Errorf("list: %v, %v", list, err)
	}
	c.requests = nil
	if list, err := storage.Init(c.driver(t)).ListUninstalled(); err != nil || len(list) != 0 || len(c.requests) != 1 {
		t.Errorf("list: %v, %v, requests %v", list, err, c.requests)
	}
}

// TestPlaceholder checks what stock Helm and the drivers of Ordered Helm find.
func TestPlaceholder(t *testing.T) {
	c := newCluster()
	must(t, c.driver(t).Create(key, revision(1, release.StatusDeployed, large)))
	rel, err := c.stock().Get(key)
	must(t, err)
	if rel.Info.Status != release.StatusPendingInstall || !strings.Contains(rel.Info.Description, "HELM_DRIVER=chunked-secret") ||
		!strings.Contains(rel.Manifest, "ReleaseInAnotherStorage") || rel.Labels["team"] != "web" {
		t.Errorf("stock Helm reads %+v, %s", rel.Info, rel.Manifest)
	}
	secrets := releasestorage.PreserveUnknownFields(storage.Init(c.stock()), releasestorage.Options{Namespace: namespace, Connect: c.driver(t).connect, Log: t.Logf})
	for name, read := range map[string]func() error{
		"get":   func() error { _, err := secrets.Get("shop", 1); return err },
		"query": func() error { _, err := secrets.History("shop"); return err },
	} {
		other, _ := errors.AsType[*placeholder.DriverError](read())
		if other == nil || other.Driver != DriverName || !strings.Contains(other.Error(), "set HELM_DRIVER=chunked-secret") {
			t.Errorf("%s: got error %v", name, other)
		}
	}
	head, _, err := releaseparts.Split(revision(2, release.StatusDeployed, small))
	must(t, err)
	must(t, c.stock().Create("sh.helm.release.v1.shop.v2", placeholder.New("crd", head, nil)))
	for name, read := range map[string]func() error{
		"get":   func() error { _, err := c.driver(t).Get("sh.helm.release.v1.shop.v2"); return err },
		"query": func() error { _, err := storage.Init(c.driver(t)).History("shop"); return err },
	} {
		if other, _ := errors.AsType[*placeholder.DriverError](read()); other == nil || other.Driver != "crd" {
			t.Errorf("%s: got error %v", name, other)
		}
	}
	list, err := storage.Init(c.driver(t)).ListReleases()
	if err != nil || len(list) != 2 || list[1].Info.Status != release.StatusPendingUpgrade {
		t.Errorf("list: %v, %v", list, err)
	}
}

// TestStockHelmChangesPlaceholder checks that nothing is lost if stock Helm stores another status
// in a placeholder, or copies it to a new revision.
func TestStockHelmChangesPlaceholder(t *testing.T) {
	c := newCluster()
	created := revision(1, release.StatusDeployed, large)
	must(t, c.driver(t).Create(key, created))
	rel, err := c.stock().Get(key)
	must(t, err)
	rel.Info.Status, rel.Info.Description = release.StatusUninstalling, "Deletion in progress"
	must(t, c.stock().Update(key, rel))
	created.Info.Status, created.Info.Description = rel.Info.Status, rel.Info.Description
	c.expectStored(t, created)
	created.Info.Status = release.StatusDeployed
	must(t, c.driver(t).Update(key, created))
	c.expectStored(t, created)
	c.expectParts(t, true)

	copied := *rel
	copied.Version, copied.Info = 2, &release.Info{Status: release.StatusPendingRollback}
	const copyKey = "sh.helm.release.v1.shop.v2"
	must(t, c.stock().Create(copyKey, &copied))
	got, err := c.driver(t).Get(copyKey)
	if err != nil || got.Info.Status != release.StatusPendingRollback || got.Manifest != "" || got.Hooks != nil {
		t.Errorf("the copy is read as %+v, error %v", got, err)
	}
	if _, err := c.driver(t).Delete(copyKey); err != nil {
		t.Error(err)
	}
	c.expectStored(t, created)
}

// TestUnknownFields checks that fields of other versions of Helm survive all changes of the size.
func TestUnknownFields(t *testing.T) {
	c := newCluster()
	must(t, c.stock().Create(key, revision(1, release.StatusDeployed, small)))
	secret := c.secret(t, key)
	before, err := new(releasestorage.Decoder).Text(secret.Data["release"])
	must(t, err)
	encoded, err := releasestorage.Encode([]byte(strings.Replace(string(before), `"info":{`, `"apply_method":"ssa","info":{"rollback_revision":7,`, 1)))
	must(t, err)
	secret.Data["release"] = []byte(encoded)
	_, err = c.CoreV1().Secrets(namespace).Update(t.Context(), secret, metav1.UpdateOptions{})
	must(t, err)
	d := c.driver(t)
	for i, size := range []int{large, large, large + 1, small, small, large, small} {
		if i%2 == 0 {
			d = c.driver(t)
		}
		must(t, d.Update(key, revision(1, release.StatusDeployed, size)))
		c.expectParts(t, size >= large)
	}
	stored, err := new(releasestorage.Decoder).Text(c.secret(t, key).Data["release"])
	must(t, err)
	for _, field := range []string{`"apply_method":"ssa"`, `"rollback_revision":7`} {
		if !strings.Contains(string(stored), field) {
			t.Errorf("%s is lost: %.300s", field, stored)
		}
	}
}

// TestUnreadableParts checks what remains possible if a part was deleted or must not be read.
func TestUnreadableParts(t *testing.T) {
	for name, breakPart := range map[string]func(t *testing.T, c *testCluster, part string){
		"deleted": func(t *testing.T, c *testCluster, part string) {
			t.Helper()
			must(t, c.CoreV1().Secrets(namespace).Delete(t.Context(), part, metav1.DeleteOptions{}))
		},
		"forbidden": func(_ *testing.T, c *testCluster, part string) {
			c.fault = func(verb, name string) error {
				if verb == "get" && name == part {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, name, errors.New("no"))
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			releases := storage.Init(c.driver(t))
			must(t, releases.Create(revision(1, release.StatusDeployed, large)))
			must(t, releases.Create(revision(2, release.StatusPendingUpgrade, large)))
			part := c.parts(t)[1]
			breakPart(t, c, part)
			releases = storage.Init(c.driver(t))
			_, err := releases.Get("shop", 1)
			if problem, _ := errors.AsType[*releaseparts.PartError](err); problem == nil || !strings.Contains(err.Error(), part) {
				t.Fatalf("got error %v", err)
			}
			history, err := releases.History("shop")
			if err != nil || len(history) != 2 {
				t.Fatalf("history: %v, %v", history, err)
			}
			problem, _ := errors.AsType[*placeholder.UnreadableError](placeholder.CheckReadable(history[0]))
			if problem == nil || problem.Revision != 1 || !strings.Contains(problem.Error(), part) || history[0].Info.Status != release.StatusDeployed {
				t.Errorf("history contains %+v, %v", history[0], problem)
			}
			if err := placeholder.CheckReadable(history[1]); err != nil || history[1].Config == nil {
				t.Errorf("history contains %+v, %v", history[1], err)
			}
			history[0].Info.Status = release.StatusSuperseded
			before := c.parts(t)
			must(t, releases.Update(history[0]))
			history, err = storage.Init(c.driver(t)).History("shop")
			if err != nil || history[0].Info.Status != release.StatusSuperseded || placeholder.CheckReadable(history[0]) == nil {
				t.Errorf("history contains %+v, %v", history[0], err)
			}
			if !slices.Equal(before, c.parts(t)) {
				t.Error("an update of the status has deleted parts")
			}
			if record, err := orderrecord.Read(history[0]); err != nil || record.LeaseFor(1) == nil {
				t.Errorf("the lease is lost: %v, %v", record, err)
			}
			if _, err := releases.Delete("shop", 1); err != nil {
				t.Error(err)
			}
			c.expectParts(t, true)
		})
	}
}
