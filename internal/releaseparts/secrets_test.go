// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseparts

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
)

var testOwner = Owner{
	Namespace: "test", Release: "shop", Revision: 3,
	Reference: metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: "sh.helm.release.v1.shop.v3", UID: "u"},
}

// incompressible returns data that cannot be compressed.
func incompressible(size int) []byte {
	data, source := make([]byte, size), rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(data) // never fails
	return data
}

// store writes two sections: a small one, and one with three parts.
func store(t *testing.T) (*fake.Clientset, *SecretStore, []Section, []EncodedSection) {
	t.Helper()
	client := fake.NewClientset()
	s := &SecretStore{Client: client}
	sections := []Section{{"release", incompressible(2*maxPartBytes + 5)}, {"record", []byte("{}")}}
	encoded, err := Encode("a.v3", sections, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), testOwner, encoded); err != nil {
		t.Fatal(err)
	}
	return client, s, sections, encoded
}

func count(t *testing.T, client *fake.Clientset) int {
	t.Helper()
	list, err := client.CoreV1().Secrets("test").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

func TestSecretStore(t *testing.T) {
	client, s, sections, encoded := store(t)
	references := References(encoded)
	if names := SecretsOf(references); len(names) != 4 || count(t, client) != 4 || !reflect.DeepEqual(names, NewSecrets(encoded)) {
		t.Fatalf("got %d Secrets: %v", count(t, client), names)
	}
	for _, name := range SecretsOf(references) {
		secret, err := client.CoreV1().Secrets("test").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		expected := map[string]string{"heritage": "helm", "helm.sh/release": "shop", "helm.sh/revision": "3", "app.kubernetes.io/component": "release-part"}
		if !*secret.Immutable || !reflect.DeepEqual(secret.Labels, expected) || secret.OwnerReferences[0].UID != "u" || len(secret.Data[partKey]) > maxPartBytes {
			t.Errorf("got %+v", secret.ObjectMeta)
		}
	}
	got, err := s.Read(t.Context(), testOwner, references)
	if err != nil || !reflect.DeepEqual(got, sections) {
		t.Fatalf("read, error %v", err)
	}
	if err := s.Write(t.Context(), testOwner, encoded); err != nil {
		t.Errorf("the write cannot be repeated: %v", err)
	}

	changed, err := Encode("b.v3", []Section{sections[0], {"record", []byte("{1}")}}, references)
	if err != nil {
		t.Fatal(err)
	}
	if names := NewSecrets(changed); len(names) != 1 || !strings.HasPrefix(names[0], "b.v3.record-0-") {
		t.Errorf("a changed section writes the Secrets %v", names)
	}
	if !reflect.DeepEqual(changed[0].Reference, references[0]) {
		t.Errorf("the unchanged section has the reference %+v, expected %+v", changed[0].Reference, references[0])
	}
	for range 2 { // a deletion can be repeated
		if err := s.Delete(t.Context(), testOwner, SecretsOf(references)); err != nil || count(t, client) != 0 {
			t.Errorf("delete: %v, %d Secrets remain", err, count(t, client))
		}
	}
}

// TestUnreadableParts checks the errors for parts that somebody has deleted or altered.
func TestUnreadableParts(t *testing.T) {
	for name, tt := range map[string]struct {
		change  func(*corev1.Secret) // nil to delete the Secret
		problem error
	}{
		"deleted":   {nil, ErrMissing},
		"altered":   {func(s *corev1.Secret) { s.Data[partKey][7]++ }, ErrAltered},
		"truncated": {func(s *corev1.Secret) { s.Data[partKey] = s.Data[partKey][1:] }, ErrAltered},
		"empty":     {func(s *corev1.Secret) { s.Data = nil }, ErrAltered},
	} {
		t.Run(name, func(t *testing.T) {
			client, s, _, encoded := store(t)
			references := References(encoded)
			secrets, victim := client.CoreV1().Secrets("test"), references[0].Secrets[1]
			secret, err := secrets.Get(t.Context(), victim, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if tt.change == nil {
				err = secrets.Delete(t.Context(), victim, metav1.DeleteOptions{})
			} else {
				tt.change(secret)
				_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Read(t.Context(), testOwner, references)
			if part, _ := errors.AsType[*PartError](err); part == nil || part.Secret != victim || !errors.Is(err, tt.problem) {
				t.Fatalf("got error %v", err)
			}
			for _, expected := range []string{victim, "release shop, revision 3", "sh.helm.release.v1.shop.v3"} {
				if !strings.Contains(err.Error(), expected) {
					t.Errorf("%q is not in %v", expected, err)
				}
			}
		})
	}
}

func TestReferenceIsVerified(t *testing.T) {
	_, s, _, encoded := store(t)
	for name, change := range map[string]func(*Reference){
		"digest":        func(r *Reference) { r.Digest = "sha256:0" },
		"smaller size":  func(r *Reference) { r.Size-- },
		"larger size":   func(r *Reference) { r.Size++ },
		"fewer parts":   func(r *Reference) { r.Secrets = r.Secrets[1:] },
		"no parts":      func(r *Reference) { r.Secrets = nil },
		"another order": func(r *Reference) { r.Secrets = []string{r.Secrets[1], r.Secrets[0], r.Secrets[2]} },
	} {
		t.Run(name, func(t *testing.T) {
			reference := encoded[0].Reference
			change(&reference)
			if _, err := s.Read(t.Context(), testOwner, []Reference{reference}); !errors.Is(err, ErrAltered) {
				t.Errorf("got error %v", err)
			}
		})
	}
}

// TestForbidden checks the errors of an account that must not access Secrets.
func TestForbidden(t *testing.T) {
	client, s, _, encoded := store(t)
	for verb, do := range map[string]func() error{
		"get":    func() error { _, err := s.Read(t.Context(), testOwner, References(encoded)); return err },
		"create": func() error { return s.Write(t.Context(), testOwner, encoded) },
		"delete": func() error { return s.Delete(t.Context(), testOwner, NewSecrets(encoded)) },
	} {
		t.Run(verb, func(t *testing.T) {
			client.PrependReactor(verb, "secrets", func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "x", errors.New("no"))
			})
			err := do()
			if part, _ := errors.AsType[*PartError](err); part == nil || !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "; the account needs the permission") {
				t.Errorf("got error %v", err)
			}
		})
	}
}

// TestExistingSecretDiffers checks that a Secret of somebody else is not taken for a part.
func TestExistingSecretDiffers(t *testing.T) {
	client, s, _, encoded := store(t)
	secrets := client.CoreV1().Secrets("test")
	secret, err := secrets.Get(t.Context(), encoded[1].Reference.Secrets[0], metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret.Data[partKey] = []byte("x")
	if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), testOwner, encoded); !errors.Is(err, ErrAltered) {
		t.Errorf("got error %v", err)
	}
}

// TestLargeSections checks sections of each level of compression.
func TestLargeSections(t *testing.T) {
	for _, data := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("x"), maxSlowBytes), bytes.Repeat([]byte("x"), maxSlowBytes+1)} {
		s := &SecretStore{Client: fake.NewClientset()}
		encoded, err := Encode("a", []Section{{"release", data}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), testOwner, encoded); err != nil {
			t.Fatal(err)
		}
		got, err := s.Read(t.Context(), testOwner, References(encoded))
		if err != nil || !bytes.Equal(got[0].Data, data) {
			t.Errorf("%d bytes: error %v", len(data), err)
		}
	}
}
