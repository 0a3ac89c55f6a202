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

// Dynamic returns a client without a rate limit of its own, unless one was
// asked for: the server's priority and fairness sees to fairness. It does not have
// more requests under way than the server bears. Every call returns the same client,
// as with Observer, Clientset and Metadata.
func (c *Client) Dynamic() (dynamic.Interface, error) {
	return c.dynamic.get(func() (dynamic.Interface, error) {
		config, err := c.paced()
		if err != nil {
			return nil, err
		}
		return dynamic.NewForConfig(config)
	})
}

// Observer returns a client like Dynamic's that tells at once when it gets no
// answer, for those who try again themselves.
func (c *Client) Observer() (dynamic.Interface, error) {
	return c.observer.get(func() (dynamic.Interface, error) {
		config, err := c.unlimited()
		if err != nil {
			return nil, err
		}
		config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return promptAnswers{rt} })
		return dynamic.NewForConfig(config)
	})
}

// Clientset returns a typed client that is limited as Dynamic's.
func (c *Client) Clientset() (kubernetes.Interface, error) {
	return c.typed.get(func() (kubernetes.Interface, error) {
		config, err := c.paced()
		if err != nil {
			return nil, err
		}
		return kubernetes.NewForConfig(config)
	})
}

// Metadata returns a client that reads metadata alone, limited as Dynamic's.
func (c *Client) Metadata() (metadata.Interface, error) {
	return c.metadata.get(func() (metadata.Interface, error) {
		config, err := c.paced()
		if err != nil {
			return nil, err
		}
		return metadata.NewForConfig(config)
	})
}

func (c *Client) paced() (*rest.Config, error) {
	config, err := c.unlimited()
	if err != nil {
		return nil, err
	}
	config.Wrap(c.pace.wrap)
	if shared, ok := c.getter.(*sharedGetter); ok {
		config.Wrap(shared.again)
	}
	return config, nil
}

func (c *Client) unlimited() (*rest.Config, error) {
	config, err := c.getter.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("unable to generate config for kubernetes client: %w", err)
	}
	config = rest.CopyConfig(config)
	if config.QPS == 0 { // nobody asked for a limit: the default would be five a second
		config.QPS = -1
	}
	return config, nil
}

// resourceClients are the clients that objects carry, by which Helm's code reads
// them anew: one for a group and version.
type resourceClients struct {
	mu   sync.Mutex
	made map[schema.GroupVersion]resource.RESTClient
}

func (r *resourceClients) client(c *Client, mapping *meta.RESTMapping) (resource.RESTClient, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gv := mapping.GroupVersionKind.GroupVersion()
	if client := r.made[gv]; client != nil {
		return client, nil
	}
	config, err := c.bound()
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
	if r.made == nil {
		r.made = map[schema.GroupVersion]resource.RESTClient{}
	}
	r.made[gv] = client
	return client, nil
}

// bound is for a client whose methods take no context.
func (c *Client) bound() (*rest.Config, error) {
	if shared, ok := c.getter.(*sharedGetter); ok {
		return shared.boundConfig()
	}
	return c.getter.ToRESTConfig()
}

// once keeps what was made first. A failure is not kept: the next call tries
// again.
type once[T any] struct {
	mu   sync.Mutex
	done bool
	made T
}

func (o *once[T]) get(create func() (T, error)) (T, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done {
		return o.made, nil
	}
	made, err := create()
	if err != nil {
		var none T
		return none, err
	}
	o.made, o.done = made, true
	return made, nil
}
