// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// clientFactory creates the clients that send requests to a cluster, each when it is first
// needed.
type clientFactory struct {
	getter  Getter
	limiter *concurrencyLimiter

	dynamic, noRetry lazy[dynamic.Interface]
	typed            lazy[kubernetes.Interface]
	metadata         lazy[metadata.Interface]
	rest             lazy[rest.Interface]

	// byGroupVersion holds the clients that Helm's code uses to read objects, one for each
	// API group and version. mu guards it.
	mu             sync.Mutex
	byGroupVersion map[schema.GroupVersion]resource.RESTClient
}

// Dynamic returns a dynamic client. It has no rate limit unless one is configured, because
// the server protects itself (API Priority and Fairness). Instead, it limits how many
// requests it sends at the same time, and adapts this limit to the server. Every call
// returns the same client; this also holds for DynamicNoRetry, Clientset, Metadata and
// REST.
func (c *clientFactory) Dynamic() (dynamic.Interface, error) {
	return c.dynamic.get(func() (dynamic.Interface, error) {
		config, err := c.limitedConfig()
		if err != nil {
			return nil, err
		}
		return dynamic.NewForConfig(config)
	})
}

// DynamicNoRetry returns a dynamic client that does not retry requests, for callers that
// retry them. It does not limit how many requests it sends at the same time.
func (c *clientFactory) DynamicNoRetry() (dynamic.Interface, error) {
	return c.noRetry.get(func() (dynamic.Interface, error) {
		config, err := c.config()
		if err != nil {
			return nil, err
		}
		config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return noRetryTransport{rt} })
		return dynamic.NewForConfig(config)
	})
}

// Clientset returns a typed client. It shares the limit of Dynamic for requests at the same
// time.
func (c *clientFactory) Clientset() (kubernetes.Interface, error) {
	return c.typed.get(func() (kubernetes.Interface, error) {
		config, err := c.limitedConfig()
		if err != nil {
			return nil, err
		}
		return kubernetes.NewForConfig(config)
	})
}

// Metadata returns a client that reads only metadata. It shares the limit of Dynamic for
// requests at the same time.
func (c *clientFactory) Metadata() (metadata.Interface, error) {
	return c.metadata.get(func() (metadata.Interface, error) {
		config, err := c.limitedConfig()
		if err != nil {
			return nil, err
		}
		return metadata.NewForConfig(config)
	})
}

// limitedConfig returns the configuration of a client that retries requests, and limits how
// many it sends at the same time.
func (c *clientFactory) limitedConfig() (*rest.Config, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	config.Wrap(c.limiter.wrap)
	if shared, ok := c.getter.(*cachingGetter); ok {
		config.Wrap(shared.retry)
	}
	return config, nil
}

// config returns the client configuration of the getter. It disables the default rate limit,
// but keeps a configured one.
func (c *clientFactory) config() (*rest.Config, error) {
	config, err := c.getter.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("unable to generate config for kubernetes client: %w", err)
	}
	config = rest.CopyConfig(config)
	if config.QPS == 0 { // the default would be five requests a second
		config.QPS = -1
	}
	return config, nil
}

// forMapping returns the client with which Helm's code reads objects that have this mapping.
func (c *clientFactory) forMapping(mapping *meta.RESTMapping) (resource.RESTClient, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gv := mapping.GroupVersionKind.GroupVersion()
	if client := c.byGroupVersion[gv]; client != nil {
		return client, nil
	}
	config, err := c.operationConfig()
	if err != nil {
		return nil, err
	}
	config.ContentConfig, config.GroupVersion, config.APIPath = resource.UnstructuredPlusDefaultContentConfig(), &gv, "/apis"
	if gv.Group == "" {
		config.APIPath = "/api"
	}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	if c.byGroupVersion == nil {
		c.byGroupVersion = map[schema.GroupVersion]resource.RESTClient{}
	}
	c.byGroupVersion[gv] = client
	return client, nil
}

// operationConfig returns the configuration of a client whose methods have no context
// argument. If the getter is that of WithContext, the requests of the client are canceled
// when the context of the operation is done.
func (c *clientFactory) operationConfig() (*rest.Config, error) {
	if shared, ok := c.getter.(*cachingGetter); ok {
		return shared.operationConfig()
	}
	return c.getter.ToRESTConfig()
}

// lazy creates a value when it is first needed, and caches it. If the creation fails, the
// next call of get tries again.
type lazy[T any] struct {
	mu    sync.Mutex
	done  bool
	value T
}

func (o *lazy[T]) get(create func() (T, error)) (T, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done {
		return o.value, nil
	}
	value, err := create()
	if err != nil {
		var zero T
		return zero, err
	}
	o.value, o.done = value, true
	return value, nil
}
