// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/provenance"
)

func TestSignAndVerify(t *testing.T) {
	for name, passphrase := range map[string]string{"open key": "", "locked key": "secret words"} {
		t.Run(name, func(t *testing.T) {
			key, other := NewKey(t, "anna", passphrase), NewKey(t, "otto", passphrase)
			archive := packageChart(t)
			proof, err := key.Sign(archive)
			if err != nil {
				t.Fatal(err)
			}

			found, err := verify(t, key.PublicRing, archive, proof)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := found.SignedBy.Identities[key.User]; !ok {
				t.Errorf("signed by %v, not %s", found.SignedBy.Identities, key.User)
			}
			if _, err := verify(t, other.PublicRing, archive, proof); err == nil {
				t.Error("another key verifies the signature, too")
			}
			if err := os.WriteFile(archive, []byte("changed"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := verify(t, key.PublicRing, archive, proof); err == nil {
				t.Error("the signature holds for another archive")
			}
		})
	}
}

func TestKeyrings(t *testing.T) {
	key := NewKey(t, "anna", "secret words")
	if key.User != "anna <anna@example.com>" {
		t.Errorf("the user is %q", key.User)
	}
	if len(key.Fingerprint) != 40 || strings.Trim(key.Fingerprint, "0123456789ABCDEF") != "" {
		t.Errorf("the fingerprint is %q", key.Fingerprint)
	}
	wrong := func(string) ([]byte, error) { return []byte("wrong"), nil }
	for ring, locked := range map[string]bool{key.SecretRing: true, key.PublicRing: false} {
		signatory, err := provenance.NewFromKeyring(ring, "anna")
		if err != nil {
			t.Fatal(err)
		}
		if (signatory.Entity.PrivateKey != nil) != locked {
			t.Errorf("%s: private key is %v", filepath.Base(ring), signatory.Entity.PrivateKey)
		}
		if signatory.DecryptKey(wrong) == nil {
			t.Errorf("%s: opened with a wrong passphrase", filepath.Base(ring))
		}
	}
}

func packageChart(t *testing.T) string {
	t.Helper()
	archive, err := chartutil.Save(&chart.Chart{Metadata: &chart.Metadata{
		APIVersion: chart.APIVersionV2, Name: "tiny", Version: "1.0.0",
	}}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

func verify(t *testing.T, ring, archive, proof string) (*provenance.Verification, error) {
	t.Helper()
	signatory, err := provenance.NewFromKeyring(ring, "")
	if err != nil {
		t.Fatal(err)
	}
	return signatory.Verify(archive, proof)
}
