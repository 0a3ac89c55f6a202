// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import "github.com/ordered-helm/helm/internal/watcher/observation"

// objectsByName contains the objects to which a stream delivers observations, by name. Several
// groups can watch the same object. An objectsByName is guarded by the watcher's mu.
type objectsByName map[string]map[*watchedObject]struct{}

func (s objectsByName) add(i *watchedObject) {
	if s[i.target.Name] == nil {
		s[i.target.Name] = map[*watchedObject]struct{}{}
	}
	s[i.target.Name][i] = struct{}{}
}

func (s objectsByName) remove(i *watchedObject) {
	delete(s[i.target.Name], i)
	if len(s[i.target.Name]) == 0 {
		delete(s, i.target.Name)
	}
}

// awaitedNames returns the names of the objects for which a group waits.
func (s objectsByName) awaitedNames() []string {
	var names []string
	for name, objects := range s {
		for i := range objects {
			if i.awaited {
				names = append(names, name)
				break
			}
		}
	}
	return names
}

// earliestVersion returns the lowest resource version that is known for any object. A watch
// that starts from it also covers objects for which a group starts to wait later.
func (s objectsByName) earliestVersion() (version string) {
	for _, objects := range s {
		for i := range objects {
			if i.queue.HasBaseline() && !i.queue.IsIncomparable() && (version == "" || observation.Before(i.queue.Version(), version)) {
				version = i.queue.Version()
			}
		}
	}
	return version
}
