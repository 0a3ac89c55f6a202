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

// staleKeep is the number of different reads whose answers are stored.
const staleKeep = 1000

// StaleReads returns a rule that answers reads with old data. A get or list that matches
// receives the answer that the same request received back requests earlier, or the oldest
// one stored, but none older than maxAge, unless that is zero. If there is no such answer,
// it receives the current one. All reads are forwarded to the server and their answers
// stored, including those that do not match, so that a client that repeats its request
// eventually gets newer data. "Not found" is stored too; other errors are not. If match is
// nil, it is AnyVersion.
//
// A real cluster answers in this way if the resourceVersion of a get or list is 0: from the
// watch cache of the server that receives the request, which can be behind another server,
// and behind what the same client saw before. The first list of an informer is such a
// request. A read without a resourceVersion is consistent: it contains every write that had
// ended before. A read with another resourceVersion contains nothing older than that. Use a
// match other than AnyVersion only to test what would happen if a cache or a broken store
// answered such reads.
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

// sameness returns a key for requests that have the same answer: it contains what is
// requested, in which form, and as which user.
func sameness(r *http.Request) string {
	parts := []string{r.URL.RequestURI()}
	for _, name := range []string{"Accept", "Accept-Encoding", "Impersonate-User"} {
		parts = append(parts, r.Header.Get(name))
	}
	return strings.Join(parts, "\n")
}

// past stores the answers to reads.
type past struct {
	back   int
	maxAge time.Duration

	mu      sync.Mutex
	answers map[string][]pastAnswer // by request, oldest first
	order   []string                // of the requests, by their first answer
}

type pastAnswer struct {
	*answer
	at time.Time
}

// instead stores the present answer and returns the one to send, which can be the present
// one.
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
