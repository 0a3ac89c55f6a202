// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaselist

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"helm.sh/helm/v3/pkg/time"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// object is a Secret or ConfigMap in a fakeCluster.
type object struct {
	metav1.ObjectMeta
	stored string
}

// fakeCluster responds to list requests for Secrets and ConfigMaps with its objects.
type fakeCluster struct {
	objects []object
	// requests contains the method, path, query and accepted content types of all requests.
	requests []string
	// fail is the error of all requests, unless it is nil.
	fail error
}

// RoundTrip implements http.RoundTripper.
func (c *fakeCluster) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests = append(c.requests, fmt.Sprint(r.Method, r.URL, r.Header["Accept"]))
	if err := cmp.Or(c.fail, r.Context().Err()); err != nil {
		return nil, err
	}
	var list any
	if strings.HasSuffix(r.URL.Path, "/secrets") {
		secrets := corev1.SecretList{TypeMeta: metav1.TypeMeta{Kind: "SecretList", APIVersion: "v1"}}
		for _, o := range c.objectsIn(r.URL.Path) {
			secrets.Items = append(secrets.Items, corev1.Secret{ObjectMeta: o.ObjectMeta, Data: map[string][]byte{"release": []byte(o.stored)}})
		}
		list = secrets
	} else {
		configMaps := corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{Kind: "ConfigMapList", APIVersion: "v1"}}
		for _, o := range c.objectsIn(r.URL.Path) {
			configMaps.Items = append(configMaps.Items, corev1.ConfigMap{ObjectMeta: o.ObjectMeta, Data: map[string]string{"release": o.stored}})
		}
		list = configMaps
	}
	body, err := json.Marshal(list)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, err
}

// objectsIn returns the objects in the namespace of a URL path.
func (c *fakeCluster) objectsIn(path string) []object {
	_, namespace, _ := strings.Cut(path, "/namespaces/")
	namespace, _, _ = strings.Cut(namespace, "/")
	return slices.DeleteFunc(slices.Clone(c.objects), func(o object) bool { return namespace != "" && o.Namespace != namespace })
}

func (c *fakeCluster) client() (kubernetes.Interface, error) {
	return kubernetes.NewForConfig(&rest.Config{Host: "http://cluster", Transport: c})
}

// helmStorages returns Helm's storages in the cluster.
func (c *fakeCluster) helmStorages(t *testing.T, namespace string) map[string]*storage.Storage {
	t.Helper()
	client, err := c.client()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*storage.Storage{
		"secrets":    storage.Init(driver.NewSecrets(client.CoreV1().Secrets(namespace))),
		"configmaps": storage.Init(driver.NewConfigMaps(client.CoreV1().ConfigMaps(namespace))),
	}
}

// newStorage returns the storage of this package in place of Helm's.
func (c *fakeCluster) newStorage(t *testing.T, helm *storage.Storage, namespace string) *storage.Storage {
	t.Helper()
	return NewStorage(t.Context(), helm, Options{Namespace: namespace, Connect: c.client, Log: t.Logf})
}

// list lists releases with the options that set sets.
func list(releases *storage.Storage, set func(*action.List)) ([]*release.Release, error) {
	config := &action.Configuration{Releases: releases, KubeClient: &kubefake.PrintingKubeClient{Out: io.Discard}}
	client := action.NewList(config)
	set(client)
	client.SetStateMask()
	return client.Run()
}

// summaries describes what is printed of releases.
func summaries(releases []*release.Release) []string {
	lines := make([]string, len(releases))
	for i, rel := range releases {
		summary := summaryOf(rel)
		var metadata *chart.Metadata
		if summary.Chart != nil {
			metadata = summary.Chart.Metadata
		}
		lines[i] = fmt.Sprintf("%s/%s %d %+v %+v %v", rel.Namespace, rel.Name, rel.Version, rel.Info, metadata, rel.Labels)
	}
	return lines
}

// compareWithHelm checks that the same releases are listed as with Helm's storages, and returns
// their number.
func (c *fakeCluster) compareWithHelm(t *testing.T, namespace string, set func(*action.List)) (listed int) {
	t.Helper()
	for name, helm := range c.helmStorages(t, namespace) {
		want, wantErr := list(helm, set)
		got, err := list(c.newStorage(t, helm, namespace), set)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s: got the error %v, want %v", name, err, wantErr)
		}
		if (got == nil) != (want == nil) || !slices.Equal(summaries(got), summaries(want)) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(summaries(got), "\n"), strings.Join(summaries(want), "\n"))
		}
		listed = len(want)
	}
	return listed
}

// stored returns an object that contains a release.
func stored(key string, rel *release.Release, encoded string) object {
	return object{metav1.ObjectMeta{Namespace: rel.Namespace, Name: key, Labels: map[string]string{
		"owner": "helm", "name": rel.Name, "status": rel.Info.Status.String(), "version": strconv.Itoa(rel.Version),
	}}, encoded}
}

// TestSameAsHelm lists a release in each of the forms in which it can be stored.
func TestSameAsHelm(t *testing.T) {
	rel, other := testRelease("shop", "test", 1, release.StatusDeployed), testRelease("web", "test", 1, release.StatusFailed)
	for _, v := range storedForms() {
		t.Run(v.name, func(t *testing.T) {
			c := &fakeCluster{objects: []object{stored("a", rel, v.store(text(t, rel))), stored("b", other, encode(text(t, other)))}}
			all := func(l *action.List) { l.All = true }
			if !v.onlyListed {
				c.compareWithHelm(t, "test", all)
				return
			}
			for name, helm := range c.helmStorages(t, "test") {
				if got, err := list(c.newStorage(t, helm, "test"), all); err != nil || len(got) != 2 {
					t.Errorf("%s: got %v, %v", name, summaries(got), err)
				}
				if want, err := list(helm, all); err != nil || len(want) != 1 {
					t.Errorf("%s: Helm lists %v, %v", name, summaries(want), err)
				}
			}
		})
	}
}

// TestRandomReleases lists random releases with random options.
func TestRandomReleases(t *testing.T) {
	const rounds = 200
	listed := 0
	for seed := range uint64(rounds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			// Releases of the same age are sorted randomly, and some unusual ones have no age.
			byDate := seed%2 == 0
			r := rand.New(rand.NewPCG(seed, 0))
			c := &fakeCluster{}
			for i := range r.IntN(40) {
				c.objects = append(c.objects, randomObject(t, r, i, !byDate))
			}
			listed += c.compareWithHelm(t, []string{"", "test", "elsewhere"}[r.IntN(3)], func(l *action.List) {
				setRandomOptions(rand.New(rand.NewPCG(seed, 1)), l)
				l.ByDate = byDate
			})
		})
	}
	if listed < rounds/2 {
		t.Errorf("only %d releases were listed", listed)
	}
}

// randomObject returns an object that contains a random release. Its labels can contradict the
// release. Releases in different namespaces have different names, because releases of the same
// name are sorted randomly.
func randomObject(t *testing.T, r *rand.Rand, i int, unusual bool) object {
	t.Helper()
	statuses := []release.Status{
		release.StatusDeployed, release.StatusSuperseded, release.StatusSuperseded, release.StatusFailed, release.StatusUninstalled, release.StatusUninstalling,
		release.StatusPendingInstall, release.StatusPendingUpgrade, release.StatusPendingRollback, release.StatusUnknown, "invented",
	}
	namespace := []string{"test", "elsewhere"}[r.IntN(2)]
	rel := testRelease(fmt.Sprintf("%s-%d", namespace, r.IntN(5)), namespace, r.IntN(4), statuses[r.IntN(len(statuses))])
	rel.Info.LastDeployed = time.Unix(int64(i*7919%100), 0)
	encoded := ""
	if unusual && r.IntN(3) == 0 {
		forms := slices.DeleteFunc(storedForms(), func(v storedForm) bool { return v.onlyListed })
		rel = testRelease("shop", "test", 1, release.StatusDeployed)
		encoded = forms[r.IntN(len(forms))].store(text(t, rel))
	} else {
		encoded = encode(text(t, rel))
	}
	o := stored(fmt.Sprint("o", i), rel, encoded)
	for _, key := range []string{"name", "status", "version", "team"} {
		if r.IntN(3) == 0 {
			o.Labels[key] = []string{"a", "b", "deployed", "superseded", "2"}[r.IntN(5)]
		}
	}
	return o
}

func setRandomOptions(r *rand.Rand, l *action.List) {
	for _, option := range []*bool{&l.Uninstalled, &l.Superseded, &l.Superseded, &l.Uninstalling, &l.Deployed, &l.Failed, &l.Pending} {
		*option = r.IntN(4) == 0
	}
	l.All, l.SortReverse = r.IntN(3) == 0, r.IntN(2) == 0
	l.Limit, l.Offset = []int{0, 1, 5, 256, -1}[r.IntN(5)], []int{0, 0, 0, 1, 3, 50}[r.IntN(6)]
	l.Filter = []string{"", "", "", "", "", "", "", "-[0-3]$", "shop", "("}[r.IntN(10)]
	l.Selector = []string{"", "", "", "", "", "", "team=a", "team!=a", "version", "name in (test-1,a)", "=="}[r.IntN(11)]
}

// TestRequests checks that the same requests are sent as by Helm's storages.
func TestRequests(t *testing.T) {
	for _, namespace := range []string{"test", ""} {
		c := new(fakeCluster)
		for name, helm := range c.helmStorages(t, namespace) {
			var requests [2][]string
			for i, releases := range []*storage.Storage{helm, c.newStorage(t, helm, namespace)} {
				c.requests = nil
				if _, err := list(releases, func(*action.List) {}); err != nil {
					t.Fatal(err)
				}
				requests[i] = c.requests
			}
			if len(requests[0]) == 0 || !slices.Equal(requests[0], requests[1]) {
				t.Errorf("%s: Helm sends %q, this storage %q", name, requests[0], requests[1])
			}
		}
	}
}

// TestFailedRequest checks that errors have the same texts as those of Helm's storages.
func TestFailedRequest(t *testing.T) {
	c := &fakeCluster{fail: errors.New("connection refused")}
	c.compareWithHelm(t, "test", func(*action.List) {})
	for name, helm := range c.helmStorages(t, "test") {
		if _, err := list(c.newStorage(t, helm, "test"), func(*action.List) {}); !errors.Is(err, c.fail) {
			t.Errorf("%s: got %v", name, err)
		}
		unreachable := errors.New("no configuration")
		releases := NewStorage(t.Context(), helm, Options{Connect: func() (kubernetes.Interface, error) { return nil, unreachable }})
		if _, err := releases.ListReleases(); !errors.Is(err, unreachable) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestCanceled(t *testing.T) {
	c := new(fakeCluster)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, helm := range c.helmStorages(t, "test") {
		releases := NewStorage(ctx, helm, Options{Namespace: "test", Connect: c.client, Log: t.Logf})
		if _, err := releases.ListReleases(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestUndecodableRelease checks that releases that cannot be decoded are omitted, and what is
// logged about them.
func TestUndecodableRelease(t *testing.T) {
	rel := testRelease("shop", "test", 1, release.StatusDeployed)
	original := text(t, rel)
	c := &fakeCluster{objects: []object{
		stored("v1", rel, encode(replace(`"version":1,`, `"version":{},`)(original))),
		stored("v2", rel, encode(`{"name":"shop"}`)),
		stored("v3", rel, encode(original)),
		stored("v4", rel, "*"),
	}}
	for name, helm := range c.helmStorages(t, "test") {
		var logged []string
		releases := NewStorage(t.Context(), helm, Options{Namespace: "test", Connect: c.client, Log: func(format string, args ...any) {
			logged = append(logged, fmt.Sprintf(format, args...))
		}})
		if got, err := list(releases, func(*action.List) {}); err != nil || len(got) != 1 {
			t.Errorf("%s: got %v, %v", name, summaries(got), err)
		}
		want := []string{
			"list: failed to decode release test/v1: json: cannot unmarshal object into Go struct field summary.version of type int",
			"list: failed to decode release test/v2: the release has no info",
			"list: failed to decode release test/v4: illegal base64 data at input byte 0",
		}
		if !slices.Equal(logged, want) {
			t.Errorf("%s: got the log\n%s", name, strings.Join(logged, "\n"))
		}
	}
}

func TestOtherMethods(t *testing.T) {
	rel := testRelease("shop", "test", 1, release.StatusDeployed)
	c := &fakeCluster{objects: []object{stored("v1", rel, encode(text(t, rel)))}}
	for name, helm := range c.helmStorages(t, "test") {
		releases := c.newStorage(t, helm, "test")
		if got, err := releases.History("shop"); err != nil || len(got) != 1 || got[0].Manifest != rel.Manifest || releases.Name() != helm.Name() {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	memory := storage.Init(driver.NewMemory())
	if NewStorage(t.Context(), memory, Options{}) != memory {
		t.Error("the storage in memory, which does not encode releases, was replaced")
	}
}
