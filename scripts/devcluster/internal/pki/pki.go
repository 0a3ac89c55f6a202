// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package pki creates the keys and certificates of a cluster.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
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

// validity is how long a certificate is valid: longer than any dev cluster exists.
const validity = 10 * 365 * 24 * time.Hour

// Authority is a certificate authority that writes the certificates that it signs to a
// directory.
type Authority struct {
	dir  string
	name string
	cert *x509.Certificate
	pem  []byte
	key  *ecdsa.PrivateKey
}

// Pair contains a certificate and its key, as PEM and as paths of files.
type Pair struct {
	CertFile, KeyFile string
	CertPEM, KeyPEM   []byte
}

// NewAuthority creates an authority with a name, and writes its certificate and key to dir.
func NewAuthority(dir, name string) (*Authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template, err := newTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make authority %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make authority %s: %w", name, err)
	}
	pair, err := writePair(dir, name, der, key)
	if err != nil {
		return nil, err
	}
	return &Authority{dir: dir, name: name, cert: cert, pem: pair.CertPEM, key: key}, nil
}

// CertFile returns the path of the authority's own certificate.
func (a *Authority) CertFile() string { return filepath.Join(a.dir, a.name+".crt") }

// KeyFile returns the path of the authority's key.
func (a *Authority) KeyFile() string { return filepath.Join(a.dir, a.name+".key") }

// PEM returns the authority's own certificate.
func (a *Authority) PEM() []byte { return a.pem }

// Client creates a certificate for a client that authenticates as the given user with the
// given groups. The names of its files begin with name.
func (a *Authority) Client(name, user string, groups ...string) (Pair, error) {
	return a.sign(name, pkix.Name{CommonName: user, Organization: groups}, nil)
}

// Server creates a certificate for a server on this machine, which is also valid for a client.
// hosts contains additional host names and addresses of the server. The names of its files
// begin with name.
func (a *Authority) Server(name string, hosts ...string) (Pair, error) {
	return a.sign(name, pkix.Name{CommonName: name}, append([]string{"127.0.0.1", "localhost"}, hosts...))
}

func (a *Authority) sign(name string, subject pkix.Name, hosts []string) (Pair, error) {
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	template, err := newTemplate(subject)
	if err != nil {
		return Pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	if len(hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("make certificate %s: %w", name, err)
	}
	return writePair(a.dir, name, der, key)
}

// SigningKey creates a key pair for service account tokens, and returns the path of the
// private key, which also contains the public key.
func SigningKey(dir, name string) (string, error) {
	key, err := newKey()
	if err != nil {
		return "", err
	}
	raw, err := keyPEM(key)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name+".key")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return "", fmt.Errorf("write key %s: %w", name, err)
	}
	return path, nil
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	return key, nil
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("make serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(validity),
	}, nil
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func writePair(dir, name string, der []byte, key *ecdsa.PrivateKey) (Pair, error) {
	pair := Pair{
		CertFile: filepath.Join(dir, name+".crt"),
		KeyFile:  filepath.Join(dir, name+".key"),
		CertPEM:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	}
	var err error
	if pair.KeyPEM, err = keyPEM(key); err != nil {
		return Pair{}, err
	}
	if err := os.WriteFile(pair.CertFile, pair.CertPEM, 0o600); err != nil {
		return Pair{}, fmt.Errorf("write certificate %s: %w", name, err)
	}
	if err := os.WriteFile(pair.KeyFile, pair.KeyPEM, 0o600); err != nil {
		return Pair{}, fmt.Errorf("write key %s: %w", name, err)
	}
	return pair, nil
}
