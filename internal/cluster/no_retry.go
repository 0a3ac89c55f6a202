// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/ordered-helm/helm/internal/httpretry"
)

// errNoResponse reports that the connection was closed before the server responded.
var errNoResponse = errors.New("the connection was closed without a response")

// noRetryTransport returns errNoResponse as soon as a connection breaks. It is for callers
// that retry requests themselves. Without it, client-go would retry the request for ten
// seconds, and then report a broken watch as if the server had ended it normally.
type noRetryTransport struct{ http.RoundTripper }

func (t noRetryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r.WithContext(httpretry.WithoutRetries(r.Context())))
	if err != nil && r.Context().Err() == nil && utilnet.IsProbableEOF(err) {
		return nil, errNoResponse
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the wrapped round tripper.
func (t noRetryTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
