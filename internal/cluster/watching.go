// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// errNoAnswer stands for a watch whose connection was closed without an answer.
var errNoAnswer = errors.New("the connection was closed without an answer")

// promptWatches tells at once of watches that get no answer. The client would
// try them again by itself for ten seconds, and then take them for watches that
// ended well.
type promptWatches struct{ http.RoundTripper }

func (p promptWatches) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := p.RoundTripper.RoundTrip(r)
	if err != nil && r.Context().Err() == nil && utilnet.IsProbableEOF(err) && r.URL.Query().Get("watch") == "true" {
		return nil, errNoAnswer
	}
	return answer, err
}

// WrappedRoundTripper is for client-go, which looks through round trippers.
func (p promptWatches) WrappedRoundTripper() http.RoundTripper { return p.RoundTripper }
