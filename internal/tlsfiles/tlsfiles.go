// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package tlsfiles makes the configuration of a TLS client of files, with the
// words that Helm has for what is wrong with them.
package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// Files are what a client shows and what it checks servers with.
type Files struct {
	// Cert and Key are a client certificate; one without the other counts as none.
	Cert, Key string
	// CA is a file with certificate authorities.
	CA string
	// Insecure takes any certificate from a server.
	Insecure bool
}

// Matter tells whether they change anything.
func (f Files) Matter() bool {
	return f.Cert != "" && f.Key != "" || f.CA != "" || f.Insecure
}

// Config reads the files.
func (f Files) Config() (*tls.Config, error) {
	config := &tls.Config{InsecureSkipVerify: f.Insecure}
	if f.Cert != "" && f.Key != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("can't load key pair from cert %s and key %s: %w", f.Cert, f.Key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("can't read CA file: %s", f.CA)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("failed to append certificates from file: %s", f.CA)
		}
	}
	return config, nil
}
