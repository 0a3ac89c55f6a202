// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/ordered-helm/helm/internal/httpretry"
)

// errNoAnswer stands for a connection that was closed without an answer.
var errNoAnswer = errors.New("the connection was closed without an answer")

// promptAnswers tells at once of requests that get no answer. The client would
// try them again by itself for ten seconds, and then take a watch for one that
// ended well. It is for those who try again themselves.
type promptAnswers struct{ http.RoundTripper }

func (p promptAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := p.RoundTripper.RoundTrip(r.WithContext(httpretry.WithoutRetries(r.Context())))
	if err != nil && r.Context().Err() == nil && utilnet.IsProbableEOF(err) {
		return nil, errNoAnswer
	}
	return answer, err
}

// WrappedRoundTripper is for client-go, which looks through round trippers.
func (p promptAnswers) WrappedRoundTripper() http.RoundTripper { return p.RoundTripper }
