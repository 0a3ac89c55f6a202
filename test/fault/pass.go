// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import "net/http"

// passageKey is the key under which the context of a request contains its passage.
type passageKey struct{}

// passage tracks how far a request has come on its way through the rules to the server.
type passage struct {
	what   Request
	rules  []*Rule // the rules that have not seen it yet
	server http.Handler
}

// Pass lets the later rules, and then the server, answer a request, and writes the response to
// w. A rule that changes the response calls Pass with a ResponseWriter of its own. A rule can
// call Pass once, with the request that it received or one with a derived context.
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
