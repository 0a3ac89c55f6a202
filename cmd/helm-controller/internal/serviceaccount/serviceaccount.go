// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package serviceaccount connects to the cluster as a service account, by impersonation.
package serviceaccount

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/ordered-helm/helm/pkg/action"
)

// discoveryAge is the age after which the kinds of the cluster are read again, when they are needed.
const discoveryAge = time.Minute

// NotFoundError reports that a service account does not exist. The API server would accept its
// impersonation nevertheless.
type NotFoundError struct{ Namespace, Name string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("service account %q not found in namespace %q", e.Name, e.Namespace)
}

// Connector creates connections for the service accounts of one cluster. It is safe for concurrent
// use.
type Connector struct {
	// config is the configuration of the controller, which has the right to impersonate.
	config *rest.Config
	client kubernetes.Interface
	// version is the version of the API server.
	version versionCache

	mu sync.Mutex
	// kinds are the kinds of the cluster, which all connections share: every account can read
	// them.
	kinds *kinds
}

// kinds are the kinds of a cluster, as read at a time.
type kinds struct {
	discovery discovery.CachedDiscoveryInterface
	mapper    meta.RESTMapper
	read      time.Time
}

// NewConnector returns a Connector. The account of config must have the right to impersonate service
// accounts, and to read them. NewConnector sends no request.
func NewConnector(config *rest.Config) (*Connector, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a Kubernetes client: %w", err)
	}
	return &Connector{config: config, client: client}, nil
}

// Connect returns a connection as a service account. It returns a *NotFoundError if the account does
// not exist.
func (c *Connector) Connect(ctx context.Context, namespace, name string) (*Connection, error) {
	_, err := c.client.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, &NotFoundError{Namespace: namespace, Name: name}
	}
	if err != nil {
		return nil, fmt.Errorf("check whether service account %q exists: %w", name, err)
	}
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + namespace + ":" + name}
	config.Wrap(c.version.wrap)
	shared, err := c.sharedKinds()
	if err != nil {
		return nil, err
	}
	return &Connection{namespace: namespace, config: config, kinds: shared}, nil
}

// sharedKinds returns the kinds of the cluster. They are read when they are first needed.
func (c *Connector) sharedKinds() (*kinds, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kinds != nil && time.Since(c.kinds.read) < discoveryAge {
		return c.kinds, nil
	}
	config := rest.CopyConfig(c.config)
	config.Wrap(c.version.wrap)
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a discovery client: %w", err)
	}
	cached := memory.NewMemCacheClient(client)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	c.kinds = &kinds{discovery: cached, mapper: mapper, read: time.Now()}
	return c.kinds, nil
}

// Forget makes the next connections read the kinds of the cluster again.
func (c *Connector) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kinds = nil
}

// Connection sends requests as a service account.
type Connection struct {
	namespace string
	config    *rest.Config
	kinds     *kinds
}

// Clientset returns a client.
func (c *Connection) Clientset() (kubernetes.Interface, error) {
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return nil, fmt.Errorf("create a Kubernetes client: %w", err)
	}
	return client, nil
}

// Configuration returns the configuration for actions on releases in the namespace of the account,
// which are stored by the given storage driver. log receives the debug log.
func (c *Connection) Configuration(storageDriver string, log func(string, ...any)) (*action.Configuration, error) {
	cfg := new(action.Configuration)
	if err := action.InitConfiguration(cfg, &getter{c}, c.namespace, storageDriver, log); err != nil {
		return nil, fmt.Errorf("open the release storage: %w", err)
	}
	return cfg, nil
}
