// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/ordered-helm/helm/internal/history/historytest"
)

// TestUndecodableRevision reads and creates a revision whose Secret cannot be decoded. It
// checks that both return an error, although Helm's storage driver panics.
func TestUndecodableRevision(t *testing.T) {
	name := historytest.Key(2)
	secrets := fake.NewClientset(&corev1.Secret{ // without the type of Helm's Secrets, because the fake client cannot select by type
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"owner": "helm", "name": historytest.ReleaseName}},
		Data:       map[string][]byte{"release": []byte("no release")},
	}).CoreV1().Secrets("default")
	store := NewStore(storage.Init(driver.NewSecrets(secrets)), t.Logf)
	_, err := store.Read(historytest.ReleaseName, 2)
	var damaged *DamagedError
	if !errors.As(err, &damaged) || !strings.Contains(err.Error(), "delete it ("+name+")") {
		t.Errorf("Read returned %v", err)
	}
	if _, err := store.Create(historytest.RevisionWithChart(2, release.StatusPendingUpgrade), nil); !errors.As(err, &damaged) {
		t.Errorf("Create returned %v", err)
	}
}

// TestDamagedRevision reads stored revisions that Helm would not have stored.
func TestDamagedRevision(t *testing.T) {
	for name, corrupt := range map[string]func(*release.Release){
		"no status":     func(rel *release.Release) { rel.Info = nil },
		"an empty hook": func(rel *release.Release) { rel.Hooks = []*release.Hook{nil} },
		"another name":  func(rel *release.Release) { rel.Name = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			releases := historytest.MemoryStorage(t,
				historytest.RevisionWithChart(1, release.StatusSuperseded), historytest.RevisionWithChart(2, release.StatusDeployed))
			releases.Driver = &historytest.CorruptingDriver{Driver: releases.Driver, Corrupt: corrupt}
			store := NewStore(releases, t.Logf)
			var damaged *DamagedError
			if _, err := store.Read(historytest.ReleaseName, 2); !errors.As(err, &damaged) {
				t.Errorf("Read returned %v", err)
			}
			if _, err := store.ReadAll(historytest.ReleaseName); !errors.As(err, &damaged) {
				t.Errorf("ReadAll returned %v", err)
			}
		})
	}
}
