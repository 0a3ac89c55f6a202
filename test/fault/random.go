// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
)

// Random is a rule that applies one of the rules to so many of a hundred requests;
// use Only to say to which requests that may happen. What becomes of a request is
// decided by the seed, by what the request is, and by how many of its kind came
// before: the same sequence of requests meets the same trouble, and so does each
// request of operations whose requests overtake each other. The namespace, which
// tests are given anew each time, does not count.
func Random(seed uint64, percent int, rules ...Rule) Rule {
	lots := newLots(seed)
	return func(w http.ResponseWriter, r *http.Request, what Request) bool {
		lot := lots.draw(what)
		if lot.IntN(100) >= percent || len(rules) == 0 {
			return false
		}
		return rules[lot.IntN(len(rules))](w, r, what)
	}
}

// Chance matches so many of a hundred requests, which are chosen as Random does.
func Chance(seed uint64, percent int) func(Request) bool {
	lots := newLots(seed)
	return func(what Request) bool { return lots.draw(what).IntN(100) < percent }
}

// lots give each request random numbers of its own.
type lots struct {
	seed uint64

	mu   sync.Mutex
	seen map[string]int // by kind
}

func newLots(seed uint64) *lots { return &lots{seed: seed, seen: map[string]int{}} }

func (l *lots) draw(what Request) *rand.Rand {
	kind := kindOf(what)
	l.mu.Lock()
	l.seen[kind]++
	nth := l.seen[kind]
	l.mu.Unlock()
	return rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "%d %d %s", l.seed, nth, kind))))
}

// kindOf says what a request is, in words that another run of the same test has,
// too: without its namespace, and without the versions in its query.
func kindOf(what Request) string {
	if what.Resource == "" {
		return what.Verb + " " + what.Path
	}
	return strings.Join([]string{what.Verb, what.Group, what.Resource, what.Name, what.Subresource}, " ")
}
