// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chunkedsecret

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/releasestorage"
	"github.com/ordered-helm/helm/internal/sequencer"
)

const (
	namespace = "test"
	key       = "sh.helm.release.v1.shop.v1"
)

// testCluster is a cluster with Secrets, which have UIDs and resource versions.
type testCluster struct {
	*fake.Clientset
	writes int
	// requests contains the requests, as in "update Secret-name".
	requests []string
	// fault is called before each request; nil for no faults.
	fault func(verb, name string) error
}

func newCluster() *testCluster {
	c := &testCluster{Clientset: fake.NewClientset()}
	c.PrependReactor("*", "secrets", c.react)
	return c
}

func (c *testCluster) react(action k8stesting.Action) (bool, runtime.Object, error) {
	name := ""
	var written *corev1.Secret
	switch a := action.(type) {
	case k8stesting.CreateAction: // also an UpdateAction
		written = a.GetObject().(*corev1.Secret)
		name = written.Name
	case k8stesting.GetAction: // also a DeleteAction
		name = a.GetName()
	case k8stesting.ListAction:
		name = a.GetListRestrictions().Labels.String()
	}
	c.requests = append(c.requests, action.GetVerb()+" "+name)
	if c.fault != nil {
		if err := c.fault(action.GetVerb(), name); err != nil {
			return true, nil, err
		}
	}
	if written == nil {
		return false, nil, nil
	}
	c.writes++
	if action.GetVerb() == "update" {
		stored, err := c.Tracker().Get(action.GetResource(), action.GetNamespace(), name)
		if err != nil {
			return true, nil, err
		}
		before := stored.(*corev1.Secret)
		if written.ResourceVersion != "" && written.ResourceVersion != before.ResourceVersion {
			return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), name, errors.New("changed"))
		}
		if before.Immutable != nil {
			return true, nil, apierrors.NewBadRequest("immutable")
		}
		written.UID = before.UID
	} else {
		written.UID = types.UID(fmt.Sprint("uid-", c.writes))
	}
	written.Namespace, written.ResourceVersion = namespace, strconv.Itoa(c.writes)
	return false, nil, nil
}

// driver returns a driver of a new process.
func (c *testCluster) driver(t *testing.T) *Driver {
	t.Helper()
	return New(releasestorage.Options{
		Namespace: namespace, Log: t.Logf, Connect: func() (kubernetes.Interface, error) { return c, nil },
	})
}

// stock returns stock Helm's driver.
func (c *testCluster) stock() *driver.Secrets {
	return driver.NewSecrets(c.CoreV1().Secrets(namespace))
}

func (c *testCluster) secret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	secret, err := c.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// parts returns the names of the Secrets that contain parts of releases.
func (c *testCluster) parts(t *testing.T) []string {
	t.Helper()
	list, err := c.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		if item.Type == "helm.sh/release-part.v1" {
			names = append(names, item.Name)
		}
	}
	slices.Sort(names)
	return names
}

// revision returns a revision whose chart contains an incompressible file.
func revision(version int, status release.Status, size int) *release.Release {
	data, source := make([]byte, size), rand.NewChaCha8([32]byte{byte(version)})
	_, _ = source.Read(data) // never fails
	ch := &chart.Chart{
		Metadata: &chart.Metadata{Name: "shop", Version: "1.2.0"},
		Files:    []*chart.File{{Name: "README.md", Data: []byte("<x>")}, {Name: "large", Data: data}},
	}
	ch, err := orderrecord.WithRecord(ch, &orderrecord.Record{
		Revision: version, Charts: &sequencer.Chart{Name: "shop"}, Lease: &orderrecord.Lease{Revision: version, ID: "id", Operation: "install", Seconds: 45},
	})
	if err != nil {
		panic(err)
	}
	return &release.Release{
		Name: "shop", Namespace: namespace, Version: version, Info: &release.Info{Status: status, Notes: "notes"}, Chart: ch,
		Manifest: "---\nkind: ConfigMap\n", Hooks: []*release.Hook{{Name: "a", Kind: "Job"}}, Config: map[string]any{"n": 1.0},
		Labels: map[string]string{"team": "web"},
	}
}

const (
	small = 1 << 10
	large = 3 << 19
)

func text(t *testing.T, rel *release.Release) string {
	t.Helper()
	data, err := json.Marshal(rel)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// expectStored checks that a new process reads rel.
func (c *testCluster) expectStored(t *testing.T, rel *release.Release) {
	t.Helper()
	got, err := c.driver(t).Get(keyOf(rel))
	if err != nil {
		t.Fatal(err)
	}
	if text(t, got) != text(t, rel) || got.Labels["team"] != rel.Labels["team"] {
		t.Errorf("another release is stored: %.300s", text(t, got))
	}
}

// expectParts checks that all parts are used, and that there are some if want is set.
func (c *testCluster) expectParts(t *testing.T, want bool) {
	t.Helper()
	parts := c.parts(t)
	if want != (len(parts) > 0) {
		t.Errorf("parts: %v", parts)
	}
	list, err := c.stock().List(func(*release.Release) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	var used []string
	for _, rel := range list {
		s, err := newStoredRevision(c.secret(t, keyOf(rel)), rel, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.references() {
			used = append(used, r.Secrets...)
		}
	}
	slices.Sort(used)
	if !slices.Equal(parts, used) {
		t.Errorf("stored parts:\n%s\nused parts:\n%s", strings.Join(parts, "\n"), strings.Join(used, "\n"))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
