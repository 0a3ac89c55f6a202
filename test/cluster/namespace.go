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
	// maxPrefix is the maximum length of the part of a namespace name that comes from the
	// test. The server appends random characters.
	maxPrefix = 40
)

// Namespace creates a namespace in which pods can run, and returns its name, which begins with
// the name of the test. After the test, everything that runs in the namespace is deleted.
func (c *Cluster) Namespace(tb testing.TB) string {
	tb.Helper()
	return c.newNamespace(tb, metav1.ObjectMeta{GenerateName: prefix(tb.Name())})
}

// NamespaceNamed is like Namespace, but creates a namespace with the given name.
func (c *Cluster) NamespaceNamed(tb testing.TB, name string) {
	tb.Helper()
	c.newNamespace(tb, metav1.ObjectMeta{Name: name})
}

func (c *Cluster) newNamespace(tb testing.TB, meta metav1.ObjectMeta) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), namespaceTimeout)
	defer cancel()
	created, err := c.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("make a namespace: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), namespaceTimeout)
		defer cancel()
		if err := c.leave(ctx, created.Name); err != nil && !apierrors.IsNotFound(err) {
			tb.Errorf("clear namespace %s: %v", created.Name, err)
		}
	})
	if err := c.awaitServiceAccount(ctx, created.Name); err != nil {
		tb.Fatalf("namespace %s does not become usable: %v", created.Name, err)
	}
	return created.Name
}

// leave deletes everything that runs in a namespace. If the cluster keeps running after the
// tests, it deletes the namespace too. Otherwise it does not, because that takes longer than
// most tests.
func (c *Cluster) leave(ctx context.Context, namespace string) error {
	if c.process == nil {
		return c.client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})
	}
	apps, batch := c.client.AppsV1(), c.client.BatchV1()
	for _, deleteAll := range []func(context.Context, metav1.DeleteOptions, metav1.ListOptions) error{
		apps.Deployments(namespace).DeleteCollection,
		apps.StatefulSets(namespace).DeleteCollection,
		apps.DaemonSets(namespace).DeleteCollection,
		apps.ReplicaSets(namespace).DeleteCollection,
		batch.CronJobs(namespace).DeleteCollection,
		batch.Jobs(namespace).DeleteCollection,
		c.client.CoreV1().Pods(namespace).DeleteCollection,
	} {
		background := metav1.DeletePropagationBackground
		if err := deleteAll(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// awaitServiceAccount waits until the service account default exists, which every pod needs.
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

// prefix converts the name of a test to a valid prefix for names of namespaces.
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
