// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// staleKeep is of how many different reads the answers are remembered.
const staleKeep = 1000

// StaleReads is a rule by which reads see the past: a get or list that matches is
// given what the same request was answered so many requests before, or the oldest
// answer that there is; in any case none older than maxAge, if that is not zero.
// Without such an answer it is given the present one. All reads are asked of the
// server and remembered, also those that do not match, so that who asks again and
// again catches up. That something was not found is remembered, too; errors are
// not. Without match it is AnyVersion.
//
// A real cluster answers so where the resourceVersion of a get or list is 0: from
// the watch cache of the server that is asked, which may be behind another server,
// and behind what the same client saw before. The first list of an informer is
// such a request. A read without a resourceVersion is consistent: it tells of
// every write that had ended before. One with another resourceVersion tells of
// nothing older than that. Other matches than AnyVersion therefore are for the
// doubt what would happen if a cache or a broken store did stand in between.
func StaleReads(back int, maxAge time.Duration, match func(Request) bool) Rule {
	if match == nil {
		match = AnyVersion
	}
	past := &past{back: max(back, 0), maxAge: maxAge, answers: map[string][]pastAnswer{}}
	return func(w http.ResponseWriter, r *http.Request, what Request) bool {
		if what.Verb != "get" && what.Verb != "list" || endless(r, what) {
			return false
		}
		present := ask(r)
		given := past.instead(present, sameness(r))
		if !match(what) {
			given = present
		}
		given.send(w, given.body.Len())
		return true
	}
}

// sameness tells requests apart that may be answered differently: by what they
// ask for, in which form, and in whose name.
func sameness(r *http.Request) string {
	parts := []string{r.URL.RequestURI()}
	for _, name := range []string{"Accept", "Accept-Encoding", "Impersonate-User"} {
		parts = append(parts, r.Header.Get(name))
	}
	return strings.Join(parts, "\n")
}

// past is what reads were answered.
type past struct {
	back   int
	maxAge time.Duration

	mu      sync.Mutex
	answers map[string][]pastAnswer // by request, the oldest first
	order   []string                // of the requests, by their first answer
}

type pastAnswer struct {
	*answer
	at time.Time
}

// instead remembers the present answer and returns the one to give instead of it,
// or itself.
func (p *past) instead(present *answer, request string) *answer {
	if present.code != http.StatusOK && present.code != http.StatusNotFound {
		return present
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	all, known := p.answers[request]
	if !known {
		p.forget()
		p.order = append(p.order, request)
	}
	all = append(all, pastAnswer{present, now})
	if p.maxAge > 0 {
		all = slices.DeleteFunc(all, func(a pastAnswer) bool { return now.Sub(a.at) > p.maxAge })
	}
	all = slices.Delete(all, 0, max(0, len(all)-p.back-1))
	p.answers[request] = all
	return all[0].answer
}

// forget makes room for one more request.
func (p *past) forget() {
	if len(p.order) == staleKeep {
		delete(p.answers, p.order[0])
		p.order = slices.Delete(p.order, 0, 1)
	}
}
