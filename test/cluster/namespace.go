// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	namespaceTimeout = 30 * time.Second
	lookInterval     = 10 * time.Millisecond
	// maxPrefix leaves room for the random end of a name.
	maxPrefix = 40
)

// Namespace makes a namespace of the test's own, in which pods can run, and
// deletes it when the test is over. Its name begins like the test's.
func (c *Cluster) Namespace(tb testing.TB) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), namespaceTimeout)
	defer cancel()
	namespaces := c.client.CoreV1().Namespaces()
	created, err := namespaces.Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: prefix(tb.Name())},
	}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("make a namespace: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), namespaceTimeout)
		defer cancel()
		err := namespaces.Delete(ctx, created.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			tb.Errorf("delete namespace %s: %v", created.Name, err)
		}
	})
	if err := c.awaitServiceAccount(ctx, created.Name); err != nil {
		tb.Fatalf("namespace %s does not become usable: %v", created.Name, err)
	}
	return created.Name
}

// awaitServiceAccount waits for what every pod of a namespace needs.
func (c *Cluster) awaitServiceAccount(ctx context.Context, namespace string) error {
	for {
		_, err := c.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			_, err = c.client.CoreV1().ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		}
		if err == nil || !apierrors.IsNotFound(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(lookInterval):
		}
	}
}

// prefix makes of a test's name what a namespace may begin with.
func prefix(test string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '-'
		}
	}, test)
	if len(name) > maxPrefix {
		name = name[:maxPrefix]
	}
	return strings.Trim(name, "-") + "-"
}
