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

// clients creates the clients that send requests to a cluster.
type clients struct {
	getter  Getter
	limiter *concurrencyLimiter

	dynamic, noRetry once[dynamic.Interface]
	typed            once[kubernetes.Interface]
	metadata         once[metadata.Interface]
	stream           once[rest.Interface]

	// mu guards byGroup, which has the clients that Helm's code uses to read objects: one
	// for each API group and version.
	mu      sync.Mutex
	byGroup map[schema.GroupVersion]resource.RESTClient
}

// Dynamic returns a dynamic client. It has no rate limit unless one is configured, because
// the server has API Priority and Fairness. The limit of the number of requests that it
// sends at the same time adapts to the server. Every call returns the same client, as for
// DynamicNoRetry, Clientset and Metadata.
func (c *clients) Dynamic() (dynamic.Interface, error) {
	return c.dynamic.get(func() (dynamic.Interface, error) {
		config, err := c.limitedConfig()
		if err != nil {
			return nil, err
		}
		return dynamic.NewForConfig(config)
	})
}

// DynamicNoRetry returns a dynamic client that fails immediately if the server does not
// respond, for callers that retry requests themselves. It does not limit the number of
// requests at the same time.
func (c *clients) DynamicNoRetry() (dynamic.Interface, error) {
	return c.noRetry.get(func() (dynamic.Interface, error) {
		config, err := c.config()
		if err != nil {
			return nil, err
		}
		config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return noRetryTransport{rt} })
		return dynamic.NewForConfig(config)
	})
}

// Clientset returns a typed client. It shares the concurrency limit of Dynamic.
func (c *clients) Clientset() (kubernetes.Interface, error) {
	return c.typed.get(func() (kubernetes.Interface, error) {
		config, err := c.limitedConfig()
		if err != nil {
			return nil, err
		}
		return kubernetes.NewForConfig(config)
	})
}

// Metadata returns a client that reads only metadata. It shares the concurrency limit of
// Dynamic.
func (c *clients) Metadata() (metadata.Interface, error) {
	return c.metadata.get(func() (metadata.Interface, error) {
		config, err := c.limitedConfig()
		if err != nil {
			return nil, err
		}
		return metadata.NewForConfig(config)
	})
}

// limitedConfig returns the configuration of a client that limits how many requests it
// sends at the same time, and that retries them.
func (c *clients) limitedConfig() (*rest.Config, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	config.Wrap(c.limiter.wrap)
	if shared, ok := c.getter.(*sharedGetter); ok {
		config.Wrap(shared.retry)
	}
	return config, nil
}

// config returns the configuration of a client without a rate limit, unless one is
// configured.
func (c *clients) config() (*rest.Config, error) {
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

// forMapping returns the client with which Helm's code reads the objects of a mapping.
func (c *clients) forMapping(mapping *meta.RESTMapping) (resource.RESTClient, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gv := mapping.GroupVersionKind.GroupVersion()
	if client := c.byGroup[gv]; client != nil {
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
	if c.byGroup == nil {
		c.byGroup = map[schema.GroupVersion]resource.RESTClient{}
	}
	c.byGroup[gv] = client
	return client, nil
}

// operationConfig returns the configuration of a client whose methods have no context
// argument. If possible, its requests end with the context of the operation.
func (c *clients) operationConfig() (*rest.Config, error) {
	if shared, ok := c.getter.(*sharedGetter); ok {
		return shared.operationConfig()
	}
	return c.getter.ToRESTConfig()
}

// once creates a value when it is first needed, and caches it. If creating it fails, the
// next call tries again.
type once[T any] struct {
	mu    sync.Mutex
	done  bool
	value T
}

func (o *once[T]) get(create func() (T, error)) (T, error) {
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
