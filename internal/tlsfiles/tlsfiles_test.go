// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package tlsfiles

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writePair writes a certificate and its key to files, and returns their paths.
func writePair(t *testing.T) (cert, key string) {
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

func TestFiles(t *testing.T) {
	cert, key := writePair(t)
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name         string
		files        Files
		needs        bool
		certificates int
		roots        bool
		fails        string
	}{
		{name: "nothing said"},
		{name: "certificate without a key", files: Files{Cert: cert}},
		{name: "certificate and key", files: Files{Cert: cert, Key: key}, needs: true, certificates: 1},
		{name: "authority", files: Files{CA: cert}, needs: true, roots: true},
		{name: "any certificate", files: Files{Insecure: true}, needs: true},
		{name: "all of it", files: Files{Cert: cert, Key: key, CA: cert, Insecure: true}, needs: true, certificates: 1, roots: true},
		{name: "key that is none", files: Files{Cert: cert, Key: cert}, needs: true, fails: "can't load key pair"},
		{name: "authority that is not there", files: Files{CA: "/none"}, needs: true, fails: "can't read CA file: /none"},
		{name: "authority that is none", files: Files{CA: empty}, needs: true, fails: "failed to append certificates from file: " + empty},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.files.Matter(); got != tt.needs {
				t.Errorf("needs TLS: %v", got)
			}
			config, err := tt.files.Config()
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v does not say %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(config.Certificates) != tt.certificates || (config.RootCAs != nil) != tt.roots || config.InsecureSkipVerify != tt.files.Insecure {
				t.Errorf("%d certificates, roots %v, insecure %v", len(config.Certificates), config.RootCAs != nil, config.InsecureSkipVerify)
			}
		})
	}
}
