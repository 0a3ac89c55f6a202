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

// staleKeep is the number of different reads whose responses StaleReads stores.
const staleKeep = 1000

// StaleReads returns a rule that answers reads with old data. A get or list request for which
// match returns true receives the response to the back-th last identical request, or the
// oldest stored response. Responses older than maxAge are not used, unless maxAge is zero. If
// there is no such response, the request receives the current one. All reads are forwarded to
// the server, and their responses are stored, even if match returns false, so that a client
// that repeats a request eventually receives newer data. Of the errors, only "not found" is
// stored. A nil match means AnyVersion.
//
// API servers answer a get or list request whose resourceVersion is 0 in this way, for example
// the first list of an informer: from their watch cache, which can be older than the data that
// the client has received from another server. Reads without a resourceVersion return the
// current data, and reads with another resourceVersion return data that are at least as new.
// Use another match than AnyVersion only to test the behavior with a cache or a faulty storage
// that does not guarantee this.
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

// sameness returns a key that is equal for requests that would receive the same response: it
// contains the path, the query, the accepted format and the user.
func sameness(r *http.Request) string {
	parts := []string{r.URL.RequestURI()}
	for _, name := range []string{"Accept", "Accept-Encoding", "Impersonate-User"} {
		parts = append(parts, r.Header.Get(name))
	}
	return strings.Join(parts, "\n")
}

// past stores the responses to reads.
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

// instead stores the current response to a request, and returns the response to send instead,
// which can be the current one.
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

// forget deletes the oldest stored request if there are too many.
func (p *past) forget() {
	if len(p.order) == staleKeep {
		delete(p.answers, p.order[0])
		p.order = slices.Delete(p.order, 0, 1)
	}
}
