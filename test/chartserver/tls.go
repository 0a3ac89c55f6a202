// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartserver

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

// validity is how long a certificate lasts: longer than any test.
const validity = 24 * time.Hour

// clientName is the common name of the client's certificate.
const clientName = "chart-client"

// secure makes an authority with a certificate for the server and one for a
// client, writes to a folder what clients need, and returns the server's side.
func (s *Server) secure(folder string) (*tls.Config, error) {
	authority, err := newAuthority()
	if err != nil {
		return nil, err
	}
	server, err := authority.sign("chart-server")
	if err != nil {
		return nil, err
	}
	client, err := authority.sign(clientName)
	if err != nil {
		return nil, err
	}
	s.CAFile = filepath.Join(folder, "ca.pem")
	s.CertFile, s.KeyFile = filepath.Join(folder, "client.pem"), filepath.Join(folder, "client-key.pem")
	key, err := x509.MarshalECPrivateKey(client.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		return nil, err
	}
	for _, file := range []struct {
		path, kind string
		der        []byte
	}{
		{s.CAFile, "CERTIFICATE", authority.certificate.Raw},
		{s.CertFile, "CERTIFICATE", client.Certificate[0]},
		{s.KeyFile, "EC PRIVATE KEY", key},
	} {
		text := pem.EncodeToMemory(&pem.Block{Type: file.kind, Bytes: file.der})
		if err := os.WriteFile(file.path, text, 0o600); err != nil {
			return nil, err
		}
	}
	config := &tls.Config{Certificates: []tls.Certificate{server}, ClientCAs: x509.NewCertPool(), ClientAuth: tls.VerifyClientCertIfGiven}
	config.ClientCAs.AddCert(authority.certificate)
	if s.options.ClientCertificates {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}

// authority signs certificates for this machine.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := newTemplate("chart-authority")
	template.IsCA = true
	template.BasicConstraintsValid = true
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
		return tls.Certificate{}, fmt.Errorf("make a certificate for %s: %w", name, err)
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
