// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"net/http"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/ordered-helm/helm/internal/httpretry"
)

// WithContext returns a copy of kc, Helm's client, whose requests are canceled when ctx is
// done. Helm's methods have no context argument, and would wait forever for a server that
// does not respond. Before each request that changes something, the copy calls mayChange; if
// that returns an error, it does not send the request. It retries requests to which the
// server does not respond, and calls onUnavailable if that takes long (see
// httpretry.Transport).
//
// WithContext also returns the getter to pass to Connect. The getter shares its discovery
// results with the client, so that they are read only once.
//
// If kc is a custom client, WithContext returns kc and getter unchanged.
func WithContext(ctx context.Context, kc kube.Interface, getter Getter, mayChange func() error, onUnavailable func(error)) (kube.Interface, Getter) {
	helm, ok := kc.(*kube.Client)
	if !ok {
		return kc, getter
	}
	full, ok := getter.(genericclioptions.RESTClientGetter)
	if !ok {
		return kc, getter
	}
	server := new(httpretry.ServerState).MarkReached()
	retry := func(rt http.RoundTripper) http.RoundTripper {
		return &httpretry.Transport{Base: rt, ServerState: server, OnUnavailable: onUnavailable}
	}
	shared := &cachingGetter{RESTClientGetter: full, mayChange: mayChange, retry: retry, cancelWithOperation: func(rt http.RoundTripper) http.RoundTripper {
		return &cancelingTransport{RoundTripper: rt, operation: ctx}
	}}
	client := kube.New(cancelingGetter{shared})
	client.Log, client.Namespace = helm.Log, helm.Namespace
	return client, shared
}

// cachingGetter is the getter that WithContext returns. It caches the results of the
// embedded getter, because Helm calls it for every object that it builds, and the getter of
// the command line reads and merges files each time.
type cachingGetter struct {
	genericclioptions.RESTClientGetter
	// cancelWithOperation wraps a round tripper so that requests are canceled when the
	// context of the operation is done. retry wraps one so that requests are retried.
	cancelWithOperation, retry func(http.RoundTripper) http.RoundTripper
	mayChange                  func() error
	config                     lazy[*rest.Config]
	discovery                  lazy[discovery.CachedDiscoveryInterface]
	mapper                     lazy[meta.RESTMapper]
}

func (g *cachingGetter) ToRESTConfig() (*rest.Config, error) {
	config, err := g.config.get(g.RESTClientGetter.ToRESTConfig)
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return &writeGuardTransport{rt, g.mayChange} })
	return config, nil
}

func (g *cachingGetter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.discovery.get(g.RESTClientGetter.ToDiscoveryClient)
}

// ToRESTMapper returns a mapper that uses the cached discovery client. Invalidating one of
// them therefore also invalidates the other.
func (g *cachingGetter) ToRESTMapper() (meta.RESTMapper, error) {
	return g.mapper.get(func() (meta.RESTMapper, error) {
		client, err := g.ToDiscoveryClient()
		if err != nil {
			return nil, err
		}
		if client == nil {
			return nil, errors.New("the API discovery of the cluster is not available")
		}
		mapper := restmapper.NewDeferredDiscoveryRESTMapper(client)
		return restmapper.NewShortcutExpander(mapper, client, nil), nil
	})
}

// operationConfig returns the configuration of a client whose requests are retried, and are
// canceled when the context of the operation is done.
func (g *cachingGetter) operationConfig() (*rest.Config, error) {
	config, err := g.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.Wrap(g.retry)
	config.Wrap(g.cancelWithOperation)
	return config, nil
}

// cancelingGetter is a cachingGetter for Helm's client: its ToRESTConfig returns the result
// of operationConfig.
type cancelingGetter struct{ *cachingGetter }

func (g cancelingGetter) ToRESTConfig() (*rest.Config, error) { return g.operationConfig() }

// cancelingTransport cancels requests when operation, the context of the operation, is done,
// even while a response body is being read.
type cancelingTransport struct {
	http.RoundTripper
	operation context.Context
}

func (t *cancelingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	release := context.AfterFunc(t.operation, func() { cancel(context.Cause(t.operation)) }) //nolint:contextcheck // the two contexts are joined
	response, err := t.RoundTripper.RoundTrip(r.WithContext(ctx))
	if err != nil {
		release()
		cancel(nil)
		if cause := context.Cause(t.operation); cause != nil { //nolint:contextcheck // as above
			return nil, cause
		}
		return nil, err
	}
	response.Body = &httpretry.BodyWithCleanup{ReadCloser: response.Body, Cleanup: func() { release(); cancel(nil) }}
	return response, nil
}

// WrappedRoundTripper lets client-go find the wrapped round tripper.
func (t *cancelingTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// writeGuardTransport calls mayChange before each request that changes something. If mayChange
// returns an error, it does not send the request, and returns a NotSentError.
type writeGuardTransport struct {
	http.RoundTripper
	mayChange func() error
}

func (t *writeGuardTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := t.mayChange(); err != nil {
			return nil, &httpretry.NotSentError{Err: err}
		}
	}
	return t.RoundTripper.RoundTrip(r)
}

// WrappedRoundTripper lets client-go find the wrapped round tripper.
func (t *writeGuardTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
