// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net/http"
	"sync"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// Dynamic returns a client without a rate limit of its own, unless one was
// asked for: the server's priority and fairness sees to fairness. Every call
// returns the same client, as with Observer, Clientset and Metadata.
func (c *Client) Dynamic() (dynamic.Interface, error) {
	return c.dynamic.get(func() (dynamic.Interface, error) {
		config, err := c.unlimited()
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

// Clientset returns a typed client without a rate limit of its own.
func (c *Client) Clientset() (kubernetes.Interface, error) {
	return c.typed.get(func() (kubernetes.Interface, error) {
		config, err := c.unlimited()
		if err != nil {
			return nil, err
		}
		return kubernetes.NewForConfig(config)
	})
}

// Metadata returns a client that reads metadata alone, without a rate limit of
// its own.
func (c *Client) Metadata() (metadata.Interface, error) {
	return c.metadata.get(func() (metadata.Interface, error) {
		config, err := c.unlimited()
		if err != nil {
			return nil, err
		}
		return metadata.NewForConfig(config)
	})
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
