// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import "net/http"

// passageKey is where a request's context has its passage.
type passageKey struct{}

// passage is the way of one request through the rules to the server.
type passage struct {
	what   Request
	rules  []*Rule // that were not asked yet
	server http.Handler
}

// Pass has a request answered by what comes after the rule that calls it: the
// later rules, and then the server. A rule that calls it has the answer in its
// hands: it says to which writer it goes. It is for one call by one rule, with the
// request that the rule was given or one derived from it.
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
