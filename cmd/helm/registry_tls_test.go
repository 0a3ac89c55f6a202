// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeCertificate writes a certificate and its key to files, and returns their paths.
func writeCertificate(t *testing.T) (cert, key string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	server.Close()
	pair := server.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		key:  {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestRegistryTLS(t *testing.T) {
	cert, key := writeCertificate(t)
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name         string
		files        registryOptions
		needs        bool
		certificates int
		roots        bool
		fails        string
	}{
		{name: "nothing said"},
		{name: "certificate without a key", files: registryOptions{certFile: cert}},
		{name: "certificate and key", files: registryOptions{certFile: cert, keyFile: key}, needs: true, certificates: 1},
		{name: "authority", files: registryOptions{caFile: cert}, needs: true, roots: true},
		{name: "any certificate", files: registryOptions{insecure: true}, needs: true},
		{name: "all of it", files: registryOptions{certFile: cert, keyFile: key, caFile: cert, insecure: true}, needs: true, certificates: 1, roots: true},
		{name: "key that is none", files: registryOptions{certFile: cert, keyFile: cert}, needs: true, fails: "can't load key pair"},
		{name: "authority that is not there", files: registryOptions{caFile: "/none"}, needs: true, fails: "can't read CA file: /none"},
		{name: "authority that is none", files: registryOptions{caFile: empty}, needs: true, fails: "failed to append certificates from file: " + empty},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.files.hasTLSSettings(); got != tt.needs {
				t.Errorf("needs TLS: %v", got)
			}
			config, err := tt.files.tlsConfig()
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v does not say %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(config.Certificates) != tt.certificates || (config.RootCAs != nil) != tt.roots || config.InsecureSkipVerify != tt.files.insecure {
				t.Errorf("%d certificates, roots %v, insecure %v", len(config.Certificates), config.RootCAs != nil, config.InsecureSkipVerify)
			}
		})
	}
}
