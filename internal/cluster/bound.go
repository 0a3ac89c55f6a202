// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/ordered-helm/helm/internal/httpretry"
)

// Bind returns Helm's client with every request bound to the context: Helm's
// own methods take none, so a server that does not answer would hold them up for
// ever. With it comes the getter to use beside it, which asks for what the
// cluster serves once, and shares that with the client. Before each request that
// changes something mayChange is asked. Requests that get no answer are sent again, and
// say is told if that goes on. Clients of another make are returned as they are.
func Bind(ctx context.Context, kc kube.Interface, getter Getter, mayChange func() error, say func(error)) (kube.Interface, Getter) {
	helm, ok := kc.(*kube.Client)
	if !ok {
		return kc, getter
	}
	full, ok := getter.(genericclioptions.RESTClientGetter)
	if !ok {
		return kc, getter
	}
	server := new(httpretry.Server).MarkReached()
	again := func(rt http.RoundTripper) http.RoundTripper {
		return &httpretry.Transport{Base: rt, Server: server, OnUnavailable: say}
	}
	shared := &sharedGetter{RESTClientGetter: full, mayChange: mayChange, again: again, bind: func(rt http.RoundTripper) http.RoundTripper {
		return &boundTransport{RoundTripper: rt, operation: ctx}
	}}
	bound := kube.New(boundGetter{shared})
	bound.Log, bound.Namespace = helm.Log, helm.Namespace
	return bound, shared
}

// sharedGetter keeps what it was asked for: Helm asks once for every object that
// it builds, and a getter of the command line reads and merges files each time.
type sharedGetter struct {
	genericclioptions.RESTClientGetter
	// bind binds requests to the operation, and again sends them again.
	bind, again func(http.RoundTripper) http.RoundTripper
	mayChange   func() error
	config      once[*rest.Config]
	discovery   once[discovery.CachedDiscoveryInterface]
	mapper      once[meta.RESTMapper]
}

func (g *sharedGetter) ToRESTConfig() (*rest.Config, error) {
	config, err := g.config.get(g.RESTClientGetter.ToRESTConfig)
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return &guardedTransport{rt, g.mayChange} })
	return config, nil
}

func (g *sharedGetter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.discovery.get(g.RESTClientGetter.ToDiscoveryClient)
}

// ToRESTMapper returns a mapper over the discovery client that is kept, so that
// forgetting what the one knows has the other ask again.
func (g *sharedGetter) ToRESTMapper() (meta.RESTMapper, error) {
	return g.mapper.get(func() (meta.RESTMapper, error) {
		client, err := g.ToDiscoveryClient()
		if err != nil {
			return nil, err
		}
		if client == nil {
			return nil, errors.New("the cluster cannot be asked for what it serves")
		}
		mapper := restmapper.NewDeferredDiscoveryRESTMapper(client)
		return restmapper.NewShortcutExpander(mapper, client, nil), nil
	})
}

// boundConfig is for a client whose requests end with the operation.
func (g *sharedGetter) boundConfig() (*rest.Config, error) {
	config, err := g.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.Wrap(g.again)
	config.Wrap(g.bind)
	return config, nil
}

// boundGetter binds the clients that are made of it.
type boundGetter struct{ *sharedGetter }

func (g boundGetter) ToRESTConfig() (*rest.Config, error) { return g.boundConfig() }

// boundTransport ends requests, their answers included, with the operation.
type boundTransport struct {
	http.RoundTripper
	operation context.Context
}

func (t *boundTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	release := context.AfterFunc(t.operation, func() { cancel(context.Cause(t.operation)) }) //nolint:contextcheck // two contexts are joined
	answer, err := t.RoundTripper.RoundTrip(r.WithContext(ctx))
	if err != nil {
		release()
		cancel(nil)
		if cause := context.Cause(t.operation); cause != nil { //nolint:contextcheck // as above
			return nil, cause
		}
		return nil, err
	}
	answer.Body = &boundBody{ReadCloser: answer.Body, end: func() { release(); cancel(nil) }}
	return answer, nil
}

// WrappedRoundTripper is for client-go, which looks through round trippers.
func (t *boundTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// guardedTransport sends requests that change something only as long as that is
// permitted.
type guardedTransport struct {
	http.RoundTripper
	mayChange func() error
}

func (t *guardedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := t.mayChange(); err != nil {
			return nil, &httpretry.NotSentError{Err: err}
		}
	}
	return t.RoundTripper.RoundTrip(r)
}

// WrappedRoundTripper is for client-go, which looks through round trippers.
func (t *guardedTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

type boundBody struct {
	io.ReadCloser
	end func()
}

func (b *boundBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
