// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import "net/http"

// passageKey is the context key for the passage of a request.
type passageKey struct{}

// passage is the path of one request through the rules to the server.
type passage struct {
	what   Request
	rules  []*Rule // the rules that have not seen it yet
	server http.Handler
}

// Pass lets the later rules and then the server answer a request, and writes the answer to
// w. A rule can pass another writer to change the answer. A rule can call it once, with the
// request that it received or a request derived from it.
func Pass(w http.ResponseWriter, r *http.Request) {
	way, ok := r.Context().Value(passageKey{}).(*passage)
	if !ok {
		panic("fault: Pass is for requests that a proxy was sent")
	}
	way.pass(w, r)
}

func (p *passage) pass(w http.ResponseWriter, r *http.Request) {
	for len(p.rules) > 0 {
		rule := p.rules[0]
		p.rules = p.rules[1:]
		if (*rule)(w, r, p.what) {
			return
		}
	}
	p.server.ServeHTTP(w, r)
}
