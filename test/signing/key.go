// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package signing creates OpenPGP keys with which tests sign charts and verify signatures.
package signing

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"helm.sh/helm/v3/pkg/provenance"
)

// Key is an OpenPGP key that is stored in keyring files.
type Key struct {
	// User is the user ID of the key, such as "Anna <anna@example.com>", of which `helm
	// package --key` is given a part.
	User string
	// Fingerprint is the key's fingerprint in upper-case hexadecimal digits.
	Fingerprint string
	// SecretRing is the path of a keyring with the private key.
	SecretRing string
	// PublicRing is the path of a keyring with only the public key.
	PublicRing string

	passphrase string
}

// NewKey creates a key for a user with the name, and an address at example.com. The private
// key is encrypted with the passphrase, unless that is empty. The files are deleted at the end
// of the test.
func NewKey(tb testing.TB, name, passphrase string) *Key {
	tb.Helper()
	k, err := newKey(tb.TempDir(), name, passphrase)
	if err != nil {
		tb.Fatalf("make an OpenPGP key: %v", err)
	}
	return k
}

func newKey(dir, name, passphrase string) (*Key, error) {
	config := &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA}
	entity, err := openpgp.NewEntity(name, "", name+"@example.com", config)
	if err != nil {
		return nil, err
	}
	k := &Key{
		User:        entity.PrimaryIdentity().Name,
		Fingerprint: fmt.Sprintf("%X", entity.PrimaryKey.Fingerprint),
		SecretRing:  filepath.Join(dir, "secring.gpg"),
		PublicRing:  filepath.Join(dir, "pubring.gpg"),
		passphrase:  passphrase,
	}
	if err := writeRing(k.PublicRing, entity.Serialize); err != nil {
		return nil, err
	}
	if passphrase != "" {
		if err := entity.EncryptPrivateKeys([]byte(passphrase), config); err != nil {
			return nil, err
		}
	}
	return k, writeRing(k.SecretRing, func(w io.Writer) error { return entity.SerializePrivateWithoutSigning(w, config) })
}

func writeRing(path string, serialize func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := serialize(file); err != nil {
		_ = file.Close() // the first error is the one to report
		return err
	}
	return file.Close()
}

// Sign writes the provenance file of a packaged chart next to it, as `helm package --sign`
// does, and returns its path.
func (k *Key) Sign(archive string) (string, error) {
	signatory, err := provenance.NewFromKeyring(k.SecretRing, k.User)
	if err != nil {
		return "", err
	}
	if err := signatory.DecryptKey(func(string) ([]byte, error) { return []byte(k.passphrase), nil }); err != nil {
		return "", err
	}
	signature, err := signatory.ClearSign(archive)
	if err != nil {
		return "", err
	}
	path := archive + ".prov"
	return path, os.WriteFile(path, []byte(signature), 0o644)
}
