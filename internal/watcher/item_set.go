// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import "github.com/ordered-helm/helm/internal/watcher/observations"

// itemSet has the items to which a stream delivers observations, by the name of their
// object. It is guarded by the watcher's mu.
type itemSet map[string]map[*item]struct{}

func (s itemSet) add(i *item) {
	if s[i.target.Name] == nil {
		s[i.target.Name] = map[*item]struct{}{}
	}
	s[i.target.Name][i] = struct{}{}
}

func (s itemSet) remove(i *item) {
	delete(s[i.target.Name], i)
	if len(s[i.target.Name]) == 0 {
		delete(s, i.target.Name)
	}
}

// attachedNames returns the names of the objects of attached items.
func (s itemSet) attachedNames() []string {
	var names []string
	for name, items := range s {
		for i := range items {
			if i.attached {
				names = append(names, name)
				break
			}
		}
	}
	return names
}

// earliestVersion returns the lowest of the versions that are known for the items. A watch
// that starts from it does not have to restart when a group later waits for the other items.
func (s itemSet) earliestVersion() (version string) {
	for _, items := range s {
		for i := range items {
			if i.queue.HasBaseline() && !i.queue.IsIncomparable() && (version == "" || observations.Before(i.queue.Version(), version)) {
				version = i.queue.Version()
			}
		}
	}
	return version
}
