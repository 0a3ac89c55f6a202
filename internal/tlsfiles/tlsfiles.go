// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package tlsfiles reads the files that configure the TLS connections of a client.
package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// Files contains the paths of files that configure TLS connections. Empty paths have no effect.
type Files struct {
	// Cert and Key are the client's certificate and its key. If one of them is missing, both
	// are ignored.
	Cert, Key string
	// CA contains the authorities that verify the server's certificate.
	CA string
	// Insecure accepts any certificate from the server.
	Insecure bool
}

// Load reads the files. Its errors have the same texts as those of Helm, whose function for this
// is not exported.
func Load(files Files) (*tls.Config, error) {
	config := &tls.Config{InsecureSkipVerify: files.Insecure}
	if files.Cert != "" && files.Key != "" {
		pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		if err != nil {
			return nil, fmt.Errorf("can't create TLS config for client: can't load key pair from cert %s and key %s: %w", files.Cert, files.Key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if files.CA != "" {
		pem, err := os.ReadFile(files.CA)
		if err != nil {
			return nil, fmt.Errorf("can't create TLS config for client: can't read CA file: %s", files.CA)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("can't create TLS config for client: failed to append certificates from file: %s", files.CA)
		}
	}
	return config, nil
}
