// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasestorage

import (
	"fmt"
	"slices"
	"sync"
)

const (
	// maxCacheSize is the maximum size of a fieldCache, in bytes. A program that embeds the SDK
	// can use one storage for many releases.
	maxCacheSize = 32 << 20
	// entryOverhead is the size of a cacheEntry besides its texts, roughly.
	entryOverhead = 256
)

// fieldCache contains the unknown fields of stored releases, by their keys in the storage, so
// that a release that was just read need not be read again when it is updated. It omits the
// releases that were recorded first if it would become too large. Its methods can be called
// concurrently.
type fieldCache struct {
	mu      sync.Mutex
	entries map[string]cacheEntry
	// keys contains the keys of entries, in the order in which they were first recorded.
	keys []string
	size int
}

// cacheEntry contains what is known about one stored release.
type cacheEntry struct {
	// stored is the release as it was read. Its unknown fields are determined only if it is
	// updated.
	stored string
	// unknown contains the unknown fields if isKnown is set; nil if there are none.
	unknown *unknownFields
	isKnown bool
}

func newFieldCache() *fieldCache { return &fieldCache{entries: map[string]cacheEntry{}} }

// recordRead records a release that was read from the storage.
func (c *fieldCache) recordRead(key, stored string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(key, cacheEntry{stored: stored})
}

// recordCreated records that this program stored a release under a key that did not exist. Such a
// release has no unknown fields.
func (c *fieldCache) recordCreated(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(key, cacheEntry{isKnown: true})
}

// recordDeleted removes a release.
func (c *fieldCache) recordDeleted(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
}

func (c *fieldCache) set(key string, e cacheEntry) {
	c.remove(key)
	c.entries[key], c.keys = e, append(c.keys, key)
	c.size += e.size(key)
	for c.size > maxCacheSize && len(c.keys) > 1 {
		c.remove(c.keys[0])
	}
}

func (c *fieldCache) remove(key string) {
	e, exists := c.entries[key]
	if !exists {
		return
	}
	c.size -= e.size(key)
	delete(c.entries, key)
	c.keys = slices.DeleteFunc(c.keys, func(k string) bool { return k == key })
}

func (e cacheEntry) size(key string) int { return len(key) + len(e.stored) + entryOverhead }

// unknownFields returns the unknown fields of a release that is about to be updated; nil if
// there are none. If the cache does not contain the release, it calls read for the stored
// release.
func (c *fieldCache) unknownFields(key string, read func() (string, error)) (*unknownFields, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, exists := c.entries[key]
	if e.isKnown {
		return e.unknown, nil
	}
	if !exists {
		var err error
		if e.stored, err = read(); err != nil {
			return nil, fmt.Errorf("read the stored release before it is updated: %w", err)
		}
	}
	unknown, err := unknownFieldsOf(e.stored)
	if err != nil {
		return nil, err
	}
	c.set(key, cacheEntry{unknown: unknown, isKnown: true})
	return unknown, nil
}

// addUnknownFields returns a release that is about to replace the stored one, with the unknown
// fields of the stored one.
func (c *fieldCache) addUnknownFields(key, written string, read func() (string, error)) (string, error) {
	unknown, err := c.unknownFields(key, read)
	if err != nil {
		return "", err
	}
	return unknown.addToStored(written)
}
