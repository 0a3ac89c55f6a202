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

// Random returns a rule that applies one of the given rules to a percentage of all requests.
// Use Only to restrict it to some requests. The choice depends on the seed, on the kind of the
// request (see kindOf), and on the number of earlier requests of this kind. Faults are
// therefore reproducible, even if requests of different kinds arrive in another order. The
// namespace does not matter, because each run of a test uses a new one.
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

// Chance returns a function that matches a percentage of requests. It chooses them as Random
// does.
func Chance(seed uint64, percent int) func(Request) bool {
	lots := newLots(seed)
	return func(what Request) bool { return lots.draw(what).IntN(100) < percent }
}

// lots assigns random numbers to requests, as Random describes.
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

// kindOf returns a text that identifies the kind of a request: the request without its
// namespace and resource version, which differ between runs of a test.
func kindOf(what Request) string {
	if what.Resource == "" {
		return what.Verb + " " + what.Path
	}
	return strings.Join([]string{what.Verb, what.Group, what.Resource, what.Name, what.Subresource}, " ")
}
