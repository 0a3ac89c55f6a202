// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package ociregistry

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// tlsFiles are the paths of what clients need.
type tlsFiles struct{ ca, clientCert, clientKey string }

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	issued      int64
}

// newTLS makes an authority, a certificate for the server and one for clients.
func newTLS(dir string, clientsMust bool) (*tls.Config, tlsFiles, error) {
	ca, err := newAuthority()
	if err != nil {
		return nil, tlsFiles{}, err
	}
	server, err := ca.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "test registry"},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return nil, tlsFiles{}, err
	}
	client, err := ca.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "test client"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return nil, tlsFiles{}, err
	}
	files := tlsFiles{
		ca:         filepath.Join(dir, "ca.crt"),
		clientCert: filepath.Join(dir, "client.crt"),
		clientKey:  filepath.Join(dir, "client.key"),
	}
	if err := files.write(ca, client); err != nil {
		return nil, tlsFiles{}, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{server}, MinVersion: tls.VersionTLS12}
	if clientsMust {
		config.ClientCAs = x509.NewCertPool()
		config.ClientCAs.AddCert(ca.certificate)
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, files, nil
}

func (f tlsFiles) write(ca *authority, client tls.Certificate) error {
	key, err := x509.MarshalPKCS8PrivateKey(client.PrivateKey)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		path, kind string
		data       []byte
	}{
		{f.ca, "CERTIFICATE", ca.certificate.Raw},
		{f.clientCert, "CERTIFICATE", client.Certificate[0]},
		{f.clientKey, "PRIVATE KEY", key},
	} {
		block := pem.EncodeToMemory(&pem.Block{Type: file.kind, Bytes: file.data})
		if err := os.WriteFile(file.path, block, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{key: key}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "test authority"},
		KeyUsage:              x509.KeyUsageCertSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	a.certificate = template // it signs itself
	raw, err := a.sign(template, &key.PublicKey)
	if err != nil {
		return nil, err
	}
	a.certificate, err = x509.ParseCertificate(raw)
	return a, err
}

func (a *authority) issue(template *x509.Certificate) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	raw, err := a.sign(template, &key.PublicKey)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, err
}

// sign signs a certificate that is valid today.
func (a *authority) sign(template *x509.Certificate, key *ecdsa.PublicKey) ([]byte, error) {
	const day = 24 * time.Hour
	a.issued++
	template.SerialNumber = big.NewInt(a.issued)
	template.NotBefore = time.Now().Add(-day)
	template.NotAfter = time.Now().Add(day)
	return x509.CreateCertificate(rand.Reader, template, a.certificate, key, a.key)
}
