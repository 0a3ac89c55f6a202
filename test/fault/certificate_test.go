// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func newAuthority(t *testing.T) *Authority {
	t.Helper()
	a, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func poolOf(a *Authority) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.PEM())
	return pool
}

// kubeconfigOf writes a kubeconfig for a proxy and returns its path.
func kubeconfigOf(t *testing.T, p *Proxy) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := p.WriteKubeconfig(path, "shop"); err != nil {
		t.Fatal(err)
	}
	return path
}

// list lists pods with a new client, and returns their resource version.
func list(t *testing.T, kubeconfig string) (string, error) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	pods, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		t.Fatal(err)
	}
	found, err := pods.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	return found.GetResourceVersion(), nil
}

func listPods(t *testing.T, p *Proxy) (string, error) {
	t.Helper()
	return list(t, kubeconfigOf(t, p))
}

func TestChangeCertificate(t *testing.T) {
	first, other := newAuthority(t), newAuthority(t)
	for _, tt := range []struct {
		name    string
		changes []*Authority
		refused bool // by a client that was created before the change
	}{
		{"not at all", nil, false},
		{"of the same authority", []*Authority{first}, false},
		{"of another authority", []*Authority{other}, true},
		{"there and back", []*Authority{other, first}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			noLeaks(t)
			p := NewTLS(t, &rest.Config{Host: newAPI(t).URL}, first)
			before, shown := kubeconfigOf(t, p), p.identity.certificate.Certificate[0]
			if _, err := list(t, before); err != nil {
				t.Fatal(err)
			}
			for _, authority := range tt.changes {
				if err := p.ChangeCertificate(authority); err != nil {
					t.Fatal(err)
				}
			}
			if changed := string(shown) != string(p.identity.certificate.Certificate[0]); changed != (tt.changes != nil) {
				t.Errorf("changed is %t", changed)
			}
			_, err := list(t, before)
			var unknown x509.UnknownAuthorityError
			if errors.As(err, &unknown) != tt.refused || !tt.refused && err != nil {
				t.Errorf("a client of the first time fails with %v", err)
			}
			if version, err := listPods(t, p); err != nil || version != "7" {
				t.Errorf("a later client got %q, %v", version, err)
			}
			if err := p.Up(); err != nil {
				t.Fatal(err)
			}
			p.Down()
			if err := p.Up(); err != nil {
				t.Fatal(err)
			}
			if version, err := listPods(t, p); err != nil || version != "7" {
				t.Errorf("after it was down a client got %q, %v", version, err)
			}
		})
	}
}

func TestChangeCertificateDropsConnections(t *testing.T) {
	noLeaks(t)
	authority := newAuthority(t)
	p, client := dial(t, true, authority)
	open := watchOn(t, client)
	shown := client.(*tls.Conn).ConnectionState().PeerCertificates[0]
	if err := p.ChangeCertificate(authority); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(open); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an open watch goes on with %q, %v", rest, err)
	}
	again, err := (&tls.Dialer{Config: &tls.Config{RootCAs: poolOf(authority), MinVersion: tls.VersionTLS12}}).DialContext(t.Context(), "tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if again.(*tls.Conn).ConnectionState().PeerCertificates[0].Equal(shown) {
		t.Error("the certificate is the same")
	}
}

func TestPlainProxyHasNoCertificate(t *testing.T) {
	p, _ := newProxy(t)
	if err := p.ChangeCertificate(newAuthority(t)); err == nil {
		t.Error("a certificate was changed that is not there")
	}
}
