// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"sync"
)

// addresses assigns IP addresses from 10.244.0.0/16 to pods.
type addresses struct {
	mu   sync.Mutex
	next int
	used map[int]bool
}

func newAddresses() *addresses { return &addresses{used: map[int]bool{}} }

const addressCount = 1<<16 - 2

// take returns an unused address. It tries addresses in turn, so that an address is not reused
// soon.
func (a *addresses) take() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range addressCount {
		a.next = a.next%addressCount + 1
		if !a.used[a.next] {
			break
		}
	}
	a.used[a.next] = true
	return format(a.next)
}

func (a *addresses) release(ip string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var high, low int
	if _, err := fmt.Sscanf(ip, "10.244.%d.%d", &high, &low); err == nil {
		delete(a.used, high<<8|low)
	}
}

func format(n int) string { return fmt.Sprintf("10.244.%d.%d", n>>8, n&0xff) }
