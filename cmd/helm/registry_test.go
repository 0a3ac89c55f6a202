// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// keyPair writes a self-signed certificate and its key.
func keyPair(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certDER, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return writePEM(t, "CERTIFICATE", certDER), writePEM(t, "EC PRIVATE KEY", keyDER)
}

func writePEM(t *testing.T, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRegistryTLS(t *testing.T) {
	cert, key := keyPair(t)
	empty := writePEM(t, "NOTHING", nil)
	tests := []struct {
		name         string
		options      registryOptions
		needs        bool
		certificates int
		roots        bool
		fails        string
	}{
		{name: "nothing said"},
		{name: "plain HTTP", options: registryOptions{plainHTTP: true}},
		{name: "certificate without a key", options: registryOptions{certFile: cert}},
		{name: "certificate and key", options: registryOptions{certFile: cert, keyFile: key}, needs: true, certificates: 1},
		{name: "authority", options: registryOptions{caFile: cert}, needs: true, roots: true},
		{name: "any certificate", options: registryOptions{insecure: true}, needs: true},
		{name: "all of it", options: registryOptions{certFile: cert, keyFile: key, caFile: cert, insecure: true}, needs: true, certificates: 1, roots: true},
		{name: "key that is none", options: registryOptions{certFile: cert, keyFile: cert}, needs: true, fails: "can't load key pair"},
		{name: "authority that is not there", options: registryOptions{caFile: "/none"}, needs: true, fails: "can't read CA file: /none"},
		{name: "authority that is none", options: registryOptions{caFile: empty}, needs: true, fails: "failed to append certificates from file: " + empty},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.options.files().Matter(); got != tt.needs {
				t.Errorf("needs TLS: %v", got)
			}
			config, err := tt.options.files().Config()
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v does not say %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(config.Certificates) != tt.certificates || (config.RootCAs != nil) != tt.roots || config.InsecureSkipVerify != tt.options.insecure {
				t.Errorf("%d certificates, roots %v, insecure %v", len(config.Certificates), config.RootCAs != nil, config.InsecureSkipVerify)
			}
		})
	}
}
