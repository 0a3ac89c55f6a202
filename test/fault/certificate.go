// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// certificateLife is how long a certificate is valid. It is longer than any test.
const certificateLife = 24 * time.Hour

// NewTLS starts a proxy that serves HTTPS, as StartTLS does. It is closed at the end of the
// test.
func NewTLS(tb testing.TB, config *rest.Config, authority *Authority) *Proxy {
	tb.Helper()
	p, err := StartTLS(context.WithoutCancel(tb.Context()), config, authority)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	return p
}

// StartTLS is like Start, but the proxy serves HTTPS, with a certificate that the authority
// signs.
func StartTLS(ctx context.Context, config *rest.Config, authority *Authority) (*Proxy, error) {
	identity := &identity{}
	if err := identity.change(authority); err != nil {
		return nil, err
	}
	return start(ctx, config, identity)
}

// ChangeCertificate makes the proxy use a new certificate, signed by the same or another
// authority, and closes all connections, like a server that restarts. Clients that trust only
// the previous authority reject a certificate of another one.
func (p *Proxy) ChangeCertificate(authority *Authority) error {
	if p.identity == nil {
		return errors.New("the proxy does not speak TLS")
	}
	if err := p.identity.change(authority); err != nil {
		return err
	}
	p.DropConnections()
	return nil
}

// identity contains the certificate that a proxy presents to its clients. It is nil if the
// proxy serves plain HTTP.
type identity struct {
	mu          sync.Mutex
	authority   *Authority
	certificate *tls.Certificate
}

func (i *identity) change(authority *Authority) error {
	certificate, err := authority.sign()
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.authority, i.certificate = authority, certificate
	return nil
}

// trusted returns the certificate of the authority that clients have to trust, as PEM.
func (i *identity) trusted() []byte {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.authority.PEM()
}

func (i *identity) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		SessionTicketsDisabled: true, // so that clients that reconnect receive the certificate again
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			i.mu.Lock()
			defer i.mu.Unlock()
			return i.certificate, nil
		},
	}
}

// Authority is a certificate authority that signs the certificates of proxies.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority creates an authority. Clients do not trust it unless they are given its PEM.
func NewAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of an authority: %w", err)
	}
	template := newTemplate("authority of the proxy of the test")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	return &Authority{certificate: certificate, key: key}, nil
}

// PEM returns the authority's own certificate.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

func (a *Authority) sign() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of a certificate: %w", err)
	}
	template := newTemplate("proxy of the test")
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func newTemplate(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(certificateLife),
	}
}
