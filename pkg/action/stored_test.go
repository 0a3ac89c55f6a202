// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
)

// TestRecordsThatAreDamaged are errors, and end no program.
func TestRecordsThatAreDamaged(t *testing.T) {
	t.Run("cannot be decoded", func(t *testing.T) {
		const name = storage.HelmStorageType + ".rel.v2"
		secrets := fake.NewClientset(&corev1.Secret{ // of whose kind there are no real ones without a cluster
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"owner": "helm", "name": "rel"}},
			Data:       map[string][]byte{"release": []byte("no release")},
		}).CoreV1().Secrets("default")
		cfg := &Configuration{Releases: storage.Init(driver.NewSecrets(secrets)), Log: t.Logf}
		_, err := readRevision(cfg.Releases, "rel", 2)
		var damaged *damagedError
		if !errors.As(err, &damaged) || !strings.Contains(err.Error(), "delete it ("+name+")") {
			t.Errorf("got %v", err)
		}
		if _, err := createRevision(cfg, charted(2, release.StatusPendingUpgrade), nil); !errors.As(err, &damaged) {
			t.Errorf("got %v for a new one", err)
		}
	})
	for name, spoil := range map[string]func(*release.Release){
		"no status":     func(rel *release.Release) { rel.Info = nil },
		"an empty hook": func(rel *release.Release) { rel.Hooks = []*release.Hook{nil} },
		"another name":  func(rel *release.Release) { rel.Name = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := storedWith(t, charted(1, release.StatusSuperseded), charted(2, release.StatusDeployed))
			cfg.Releases.Driver = &spoiling{Driver: cfg.Releases.Driver, spoil: spoil}
			var damaged *damagedError
			if _, err := readRevision(cfg.Releases, "rel", 2); !errors.As(err, &damaged) {
				t.Errorf("got %v", err)
			}
			f, err := (&inquiry{cfg: cfg, events: newEvents(nil), name: "rel", helm: noObjection}).run(t.Context())
			if err == nil {
				err = f.err
			}
			if !errors.As(err, &damaged) {
				t.Errorf("an inquiry found %v", err)
			}
			i := NewInstall(cfg)
			i.ReleaseName, i.Replace = "rel", true
			if _, err := i.claimName(); !errors.As(err, &damaged) {
				t.Errorf("an installation found %v", err)
			}
		})
	}
}

// TestNamesThatAreFree: a name is where there is no release, and, as in Helm, for who must
// not look; not where that cannot be found out.
func TestNamesThatAreFree(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		free bool
	}{
		"there is none":    {err: driver.ErrReleaseNotFound, free: true},
		"it is forbidden":  {err: fmt.Errorf("query: %w", apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", nil)), free: true},
		"it does not work": {err: apierrors.NewInternalError(errors.New("no"))},
	} {
		cfg := storedWith(t)
		cfg.Releases.Driver = &unlisted{Driver: cfg.Releases.Driver, err: tt.err}
		i := NewInstall(cfg)
		i.ReleaseName = "rel"
		if _, err := i.claimName(); (err == nil) != tt.free {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// unlisted is a driver that cannot list.
type unlisted struct {
	driver.Driver
	err error
}

func (u *unlisted) Query(map[string]string) ([]*release.Release, error) { return nil, u.err }

// spoiling is a driver that gives away what is stored in another form.
type spoiling struct {
	driver.Driver
	spoil func(*release.Release)
}

func (s *spoiling) Get(key string) (*release.Release, error) {
	rel, err := s.Driver.Get(key)
	if err != nil {
		return nil, err
	}
	rel = ownRelease(rel)
	s.spoil(rel)
	return rel, nil
}

func (s *spoiling) Query(labels map[string]string) ([]*release.Release, error) {
	list, err := s.Driver.Query(labels)
	for i, rel := range list {
		list[i] = ownRelease(rel)
		s.spoil(list[i])
	}
	return list, err
}
