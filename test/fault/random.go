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

// Random returns a rule that applies one of the rules to the given percentage of requests.
// Use Only to restrict it to some requests. The choice depends on the seed, on the kind of
// the request, and on how many requests of this kind came before. The same sequence of
// requests therefore meets the same faults, even if requests of different kinds overtake
// each other. The namespace is ignored, because each run of a test uses a new one.
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

// Chance matches the given percentage of requests, chosen as Random does.
func Chance(seed uint64, percent int) func(Request) bool {
	lots := newLots(seed)
	return func(what Request) bool { return lots.draw(what).IntN(100) < percent }
}

// lots assigns random numbers to each request.
type lots struct {
	seed uint64

	mu   sync.Mutex
	seen map[string]int // number of requests by kind
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

// kindOf returns a text for the kind of a request that is the same in each run of a test:
// it contains neither the namespace nor the resource versions in the query.
func kindOf(what Request) string {
	if what.Resource == "" {
		return what.Verb + " " + what.Path
	}
	return strings.Join([]string{what.Verb, what.Group, what.Resource, what.Name, what.Subresource}, " ")
}
