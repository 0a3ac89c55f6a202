// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package nginx

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
)

// writeServerCertificate writes the first certificate of a configuration, and its key, to the
// files server.pem and server-key.pem in a directory.
func writeServerCertificate(dir string, config *tls.Config) error {
	certificate := config.Certificates[0]
	var chain bytes.Buffer
	for _, der := range certificate.Certificate {
		if err := pem.Encode(&chain, &pem.Block{Type: "CERTIFICATE", Bytes: der}); err != nil {
			return err
		}
	}
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "server.pem"), chain.Bytes(), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "server-key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600)
}
