// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package certificates creates certificates for tests with TLS: a certificate authority, and
// certificates for a server on this machine and for its clients.
package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// ClientName is the common name of the client's certificate.
const ClientName = "test client"

// validity is how long a certificate is valid. It is longer than any test.
const validity = 24 * time.Hour

// Files contains the paths of the files that a client needs.
type Files struct {
	// CA is the certificate of the authority that signed the server's certificate.
	CA string
	// Cert and Key are a certificate that the client can present.
	Cert, Key string
}

// Make creates an authority and certificates, writes the files for clients to a directory, and
// returns the configuration for the server. If clientsMust is true, the server rejects clients
// without a certificate. Certificates of clients must be signed by the authority in any case.
func Make(folder string, clientsMust bool) (*tls.Config, Files, error) {
	authority, err := newAuthority()
	if err != nil {
		return nil, Files{}, err
	}
	server, err := authority.sign("test server")
	if err != nil {
		return nil, Files{}, err
	}
	client, err := authority.sign(ClientName)
	if err != nil {
		return nil, Files{}, err
	}
	files := Files{
		CA:   filepath.Join(folder, "ca.pem"),
		Cert: filepath.Join(folder, "client.pem"),
		Key:  filepath.Join(folder, "client-key.pem"),
	}
	if err := files.write(authority, client); err != nil {
		return nil, Files{}, err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{server}, MinVersion: tls.VersionTLS12,
		ClientCAs: x509.NewCertPool(), ClientAuth: tls.VerifyClientCertIfGiven,
	}
	config.ClientCAs.AddCert(authority.certificate)
	if clientsMust {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, files, nil
}

func (f Files) write(a *authority, client tls.Certificate) error {
	key, err := x509.MarshalPKCS8PrivateKey(client.PrivateKey)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		path, kind string
		der        []byte
	}{
		{f.CA, "CERTIFICATE", a.certificate.Raw},
		{f.Cert, "CERTIFICATE", client.Certificate[0]},
		{f.Key, "PRIVATE KEY", key},
	} {
		text := pem.EncodeToMemory(&pem.Block{Type: file.kind, Bytes: file.der})
		if err := os.WriteFile(file.path, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// authority is a certificate authority that signs certificates for this machine.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := newTemplate("test authority")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	return &authority{certificate: certificate, key: key}, err
}

func (a *authority) sign(name string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := newTemplate(name)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.DNSNames = []string{"localhost"}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate for the %s: %w", name, err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func newTemplate(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}
