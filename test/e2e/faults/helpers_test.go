// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"net/http"
	"sync"

	"github.com/ordered-helm/helm/test/fault"
)

// firstWatch returns a channel that is closed when the proxy receives the first watch of a
// resource.
func firstWatch(p *fault.Proxy, resource string) <-chan struct{} {
	watched := make(chan struct{})
	var once sync.Once
	p.Intercept(func(_ http.ResponseWriter, _ *http.Request, what fault.Request) bool {
		if what.Verb == "watch" && what.Resource == resource {
			once.Do(func() { close(watched) })
		}
		return false
	})
	return watched
}
