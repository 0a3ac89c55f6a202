// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/ordered-helm/helm/internal/httpretry"
)

// errNoAnswer reports that a connection was closed without a response.
var errNoAnswer = errors.New("the connection was closed without an answer")

// noRetryTransport fails immediately if the server does not respond to a request, for
// callers that retry requests themselves. Otherwise client-go would retry the request for
// ten seconds, and then report that a watch has ended normally.
type noRetryTransport struct{ http.RoundTripper }

func (t noRetryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r.WithContext(httpretry.WithoutRetries(r.Context())))
	if err != nil && r.Context().Err() == nil && utilnet.IsProbableEOF(err) {
		return nil, errNoAnswer
	}
	return answer, err
}

// WrappedRoundTripper returns the wrapped round tripper for client-go.
func (t noRetryTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
