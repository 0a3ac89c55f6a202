// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartsource

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// caKey is the key of a Secret with the certificates of the authorities that are trusted.
const caKey = "ca.crt"

// credentials are what spec.chart.credentialsSecret contains.
type credentials struct {
	username, password string
	tls                *tls.Config
}

// readCredentials reads the credentials from a Secret; without a name, there are none.
func readCredentials(ctx context.Context, client kubernetes.Interface, namespace, name string) (*credentials, error) {
	if name == "" {
		return &credentials{}, nil
	}
	secret, err := client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fail(ReasonCredentials, "spec.chart.credentialsSecret: Secret %s not found", name)
	}
	if err != nil {
		return nil, fmt.Errorf("spec.chart.credentialsSecret: read Secret %s: %w", name, err)
	}
	c := &credentials{
		username: string(secret.Data[corev1.BasicAuthUsernameKey]), password: string(secret.Data[corev1.BasicAuthPasswordKey]),
		tls: &tls.Config{MinVersion: tls.VersionTLS12},
	}
	if ca := secret.Data[caKey]; len(ca) > 0 {
		c.tls.RootCAs = x509.NewCertPool()
		if !c.tls.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fail(ReasonCredentials, "spec.chart.credentialsSecret: key %s of Secret %s contains no certificate", caKey, name)
		}
	}
	cert, key := secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]
	if len(cert) == 0 && len(key) == 0 {
		return c, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fail(ReasonCredentials, "spec.chart.credentialsSecret: the keys %s and %s of Secret %s contain no valid key pair", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, name)
	}
	c.tls.Certificates = []tls.Certificate{pair}
	return c, nil
}
