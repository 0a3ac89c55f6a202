// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasestorage

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
)

const namespace = "test"

// storages returns Helm's storages in Secrets and ConfigMaps of a cluster, and for each a
// function that returns and, if its argument is not nil, replaces the stored text of a release.
func storages(t *testing.T, client *fake.Clientset) map[string]testStorage {
	t.Helper()
	core := client.CoreV1()
	return map[string]testStorage{
		"secrets": {driver.NewSecrets(core.Secrets(namespace)), func(key string, replacement *string) string {
			secret, err := core.Secrets(namespace).Get(t.Context(), key, metav1.GetOptions{})
			if err == nil && replacement != nil {
				secret.Data[releaseField] = []byte(*replacement)
				_, err = core.Secrets(namespace).Update(t.Context(), secret, metav1.UpdateOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			return string(secret.Data[releaseField])
		}},
		"configmaps": {driver.NewConfigMaps(core.ConfigMaps(namespace)), func(key string, replacement *string) string {
			configMap, err := core.ConfigMaps(namespace).Get(t.Context(), key, metav1.GetOptions{})
			if err == nil && replacement != nil {
				configMap.Data[releaseField] = *replacement
				_, err = core.ConfigMaps(namespace).Update(t.Context(), configMap, metav1.UpdateOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			return configMap.Data[releaseField]
		}},
	}
}

type testStorage struct {
	helm   driver.Driver
	stored func(key string, replacement *string) string
}

func (s testStorage) preserving(t *testing.T, client kubernetes.Interface) *storage.Storage {
	t.Helper()
	return PreserveUnknownFields(storage.Init(s.helm), Options{
		Namespace: namespace, Log: t.Logf, Connect: func() (kubernetes.Interface, error) { return client, nil },
	})
}

func revision(version int, status release.Status) *release.Release {
	return &release.Release{
		Name: "shop", Namespace: namespace, Version: version, Info: &release.Info{Status: status},
		Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "shop"}, Files: []*chart.File{{Name: "README.md", Data: []byte("<x>")}}},
		Hooks: []*release.Hook{{Name: "a", Kind: "Job"}}, Config: map[string]any{"n": 1e21, "null": nil},
	}
}

const key = "sh.helm.release.v1.shop.v1"

// TestUpdateKeepsUnknownFields updates a release that contains fields of a newer version of
// Helm, after it was read in each of the possible ways.
func TestUpdateKeepsUnknownFields(t *testing.T) {
	client := fake.NewClientset()
	for driverName, s := range storages(t, client) {
		for name, read := range map[string]func(*storage.Storage) (*release.Release, error){
			"read by key":           func(releases *storage.Storage) (*release.Release, error) { return releases.Get("shop", 1) },
			"read from the history": func(releases *storage.Storage) (*release.Release, error) { return releases.Last("shop") },
			"read from the list of all releases": func(releases *storage.Storage) (*release.Release, error) {
				list, err := releases.ListReleases()
				if err != nil || len(list) != 1 {
					return nil, errors.Join(err, errors.New("the release is not listed"))
				}
				return list[0], nil
			},
			"not read": func(*storage.Storage) (*release.Release, error) { return revision(1, release.StatusDeployed), nil },
		} {
			t.Run(driverName+", "+name, func(t *testing.T) {
				releases := s.preserving(t, client)
				if err := s.helm.Create(key, revision(1, release.StatusDeployed)); err != nil {
					t.Fatal(err)
				}
				defer s.helm.Delete(key) //nolint:errcheck // the next case fails then
				newer := strings.Replace(mustDecode(t, s.stored(key, nil)), "{", `{"apply_method":"ssa",`, 1)
				newer = strings.Replace(newer, `"info":{`, `"info":{"rollback_revision":7,`, 1)
				newer = strings.Replace(newer, `"name":"README.md"`, `"name":"README.md","modtime":"t"`, 1)
				replacement := mustEncode(t, newer)
				s.stored(key, &replacement)

				rel, err := read(releases)
				if err != nil {
					t.Fatal(err)
				}
				for _, status := range []release.Status{release.StatusUninstalling, release.StatusSuperseded} {
					rel.Info.Status = status
					if err := releases.Update(rel); err != nil {
						t.Fatal(err)
					}
				}
				expectSameJSON(t, mustDecode(t, s.stored(key, nil)), strings.Replace(newer, `"deployed"`, `"superseded"`, 1))
			})
		}
	}
}

// TestStoredAsByHelm checks that a release without fields of other versions of Helm is stored
// with the same bytes and the same requests as by Helm.
func TestStoredAsByHelm(t *testing.T) {
	for driverName := range storages(t, fake.NewClientset()) {
		t.Run(driverName, func(t *testing.T) {
			var written, requests [2]string
			for i := range 2 {
				client := fake.NewClientset()
				s := storages(t, client)[driverName]
				releases := storage.Init(s.helm)
				if i == 1 {
					releases = s.preserving(t, client)
				}
				operate(t, releases)
				requests[i] = requestsOf(client.Actions())
				written[i] = s.stored(key, nil) + s.stored("sh.helm.release.v1.shop.v2", nil)
			}
			if written[0] != written[1] {
				t.Errorf("Helm stores\n%s\nthis storage\n%s", written[0], written[1])
			}
			if requests[0] != requests[1] {
				t.Errorf("Helm sends\n%s\nthis storage\n%s", requests[0], requests[1])
			}
		})
	}
}

// operate stores two revisions of a release as an install and an upgrade do.
func operate(t *testing.T, releases *storage.Storage) {
	t.Helper()
	first, second := revision(1, release.StatusPendingInstall), revision(2, release.StatusPendingUpgrade)
	err := releases.Create(first)
	first.Info.Status = release.StatusDeployed
	err = errors.Join(err, releases.Update(first))
	last, readErr := releases.Last("shop")
	err = errors.Join(err, readErr, releases.Create(second))
	last.Info.Status, second.Info.Status = release.StatusSuperseded, release.StatusDeployed
	if err := errors.Join(err, releases.Update(last), releases.Update(second)); err != nil {
		t.Fatal(err)
	}
}

func requestsOf(actions []k8stesting.Action) string {
	var requests []string
	for _, a := range actions {
		requests = append(requests, a.GetVerb()+" "+a.GetResource().Resource)
	}
	return strings.Join(requests, "\n")
}

// TestNoFieldsOfDeletedReleases checks that a new release has no fields of a deleted release
// with the same name.
func TestNoFieldsOfDeletedReleases(t *testing.T) {
	client := fake.NewClientset()
	for driverName, s := range storages(t, client) {
		t.Run(driverName, func(t *testing.T) {
			releases := s.preserving(t, client)
			if err := s.helm.Create(key, revision(1, release.StatusDeployed)); err != nil {
				t.Fatal(err)
			}
			replacement := mustEncode(t, strings.Replace(mustDecode(t, s.stored(key, nil)), "{", `{"apply_method":"ssa",`, 1))
			s.stored(key, &replacement)
			if _, err := releases.Delete("shop", 1); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(releases.Create(revision(1, release.StatusDeployed)), releases.Update(revision(1, release.StatusFailed))); err != nil {
				t.Fatal(err)
			}
			if text := mustDecode(t, s.stored(key, nil)); strings.Contains(text, "apply_method") {
				t.Errorf("got %s", text)
			}
		})
	}
}

// TestUnreadableRelease checks that a release that was not read before is not overwritten if
// it cannot be read.
func TestUnreadableRelease(t *testing.T) {
	client := fake.NewClientset()
	for driverName, s := range storages(t, client) {
		t.Run(driverName, func(t *testing.T) {
			if err := s.helm.Create(key, revision(1, release.StatusDeployed)); err != nil {
				t.Fatal(err)
			}
			before := s.stored(key, nil)
			client.PrependReactor("get", driverName, func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, nil, errors.New("forbidden")
			})
			err := s.preserving(t, client).Update(revision(1, release.StatusFailed))
			client.ReactionChain = slices.Delete(client.ReactionChain, 0, 1)
			if err == nil || !strings.Contains(err.Error(), "forbidden") {
				t.Errorf("got %v", err)
			}
			if s.stored(key, nil) != before {
				t.Error("the release was overwritten")
			}
		})
	}
}

func TestNoCluster(t *testing.T) {
	unreachable := errors.New("no configuration")
	for driverName, s := range storages(t, fake.NewClientset()) {
		t.Run(driverName, func(t *testing.T) {
			releases := PreserveUnknownFields(storage.Init(s.helm), Options{Log: t.Logf, Connect: func() (kubernetes.Interface, error) { return nil, unreachable }})
			_, readErr := releases.Get("shop", 1)
			_, listErr := releases.ListReleases()
			_, deleteErr := releases.Driver.Delete(key)
			for _, err := range []error{readErr, listErr, deleteErr, releases.Create(revision(1, "")), releases.Update(revision(1, ""))} {
				if err == nil || !strings.Contains(err.Error(), unreachable.Error()) {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

func TestOtherDrivers(t *testing.T) {
	memory := storage.Init(driver.NewMemory())
	if PreserveUnknownFields(memory, Options{}) != memory {
		t.Error("the storage in memory, which does not encode releases, was replaced")
	}
}
