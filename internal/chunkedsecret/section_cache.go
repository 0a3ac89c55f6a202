// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chunkedsecret

import (
	"sync"

	"github.com/ordered-helm/helm/internal/releaseparts"
)

// maxCacheBytes is the maximum size of a sectionCache.
const maxCacheBytes = 64 << 20

// sectionCache contains sections that were read, by their digests: an operation reads the
// revisions of its release several times. It omits the sections that were read first if it would
// become too large. Its zero value can be used. Its methods can be called concurrently.
type sectionCache struct {
	mu       sync.Mutex
	sections map[string]releaseparts.Section
	digests  []string
	size     int
}

// get returns the sections that are in the cache, and the references to the others.
func (c *sectionCache) get(references []releaseparts.Reference) (found []releaseparts.Section, missing []releaseparts.Reference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range references {
		if section, exists := c.sections[r.Digest]; exists && section.Name == r.Section {
			found = append(found, section)
		} else {
			missing = append(missing, r)
		}
	}
	return found, missing
}

// add adds sections that were read, or written.
func (c *sectionCache) add(references []releaseparts.Reference, sections []releaseparts.Section) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range references {
		if _, exists := c.sections[r.Digest]; exists || len(sections[i].Data) > maxCacheBytes {
			continue
		}
		if c.sections == nil {
			c.sections = map[string]releaseparts.Section{}
		}
		c.sections[r.Digest], c.digests = sections[i], append(c.digests, r.Digest)
		c.size += len(sections[i].Data)
		for c.size > maxCacheBytes {
			oldest := c.digests[0]
			c.size -= len(c.sections[oldest].Data)
			c.digests = c.digests[1:]
			delete(c.sections, oldest)
		}
	}
}
