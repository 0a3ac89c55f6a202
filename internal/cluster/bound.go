// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"io"
	"net/http"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
)

// Bind returns Helm's client with every request bound to the context: Helm's
// own methods take none, so a server that does not answer would hold them up for
// ever. Clients of another make are returned as they are.
func Bind(ctx context.Context, kc kube.Interface, getter Getter) kube.Interface {
	helm, ok := kc.(*kube.Client)
	if !ok {
		return kc
	}
	full, ok := getter.(genericclioptions.RESTClientGetter)
	if !ok {
		return kc
	}
	bound := kube.New(&boundGetter{RESTClientGetter: full, bind: func(rt http.RoundTripper) http.RoundTripper {
		return &boundTransport{RoundTripper: rt, operation: ctx}
	}})
	bound.Log, bound.Namespace = helm.Log, helm.Namespace
	return bound
}

// boundGetter binds the clients that are made of it.
type boundGetter struct {
	genericclioptions.RESTClientGetter
	bind func(http.RoundTripper) http.RoundTripper
}

func (g *boundGetter) ToRESTConfig() (*rest.Config, error) {
	config, err := g.RESTClientGetter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Wrap(g.bind)
	return config, nil
}

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

type boundBody struct {
	io.ReadCloser
	end func()
}

func (b *boundBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
