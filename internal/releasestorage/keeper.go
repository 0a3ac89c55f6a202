// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasestorage

import (
	"fmt"
	"sync"
)

// keeper keeps the unknown fields of stored releases while they are updated. It identifies
// releases by their keys in the storage. Its methods can be called concurrently.
type keeper struct {
	mu sync.Mutex
	// read contains the releases that were read and whose unknown fields are not known yet.
	read map[string]string
	// unknown contains the unknown fields of the releases that were created or updated; nil
	// for releases without such fields.
	unknown map[string]*unknownFields
}

func newKeeper() *keeper {
	return &keeper{read: map[string]string{}, unknown: map[string]*unknownFields{}}
}

// wasRead remembers a release that was read from the storage. Its unknown fields are
// determined only if it is updated.
func (k *keeper) wasRead(key, stored string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.unknown, key)
	k.read[key] = stored
}

// wasCreated records that this program stored a release under a key that did not exist. Such a
// release has no unknown fields.
func (k *keeper) wasCreated(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.read, key)
	k.unknown[key] = nil
}

// wasDeleted forgets a release.
func (k *keeper) wasDeleted(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.read, key)
	delete(k.unknown, key)
}

// unknownFields returns the unknown fields of a release that is about to be updated; nil if
// there are none. If the release was neither read nor created, it calls read for the stored
// release.
func (k *keeper) unknownFields(key string, read func() (string, error)) (*unknownFields, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if unknown, known := k.unknown[key]; known {
		return unknown, nil
	}
	stored, wasRead := k.read[key]
	if !wasRead {
		var err error
		if stored, err = read(); err != nil {
			return nil, fmt.Errorf("read the stored release before it is updated: %w", err)
		}
	}
	unknown, err := unknownFieldsOf(stored)
	if err != nil {
		return nil, err
	}
	delete(k.read, key)
	k.unknown[key] = unknown
	return unknown, nil
}

// update returns a release that is about to replace the stored one, with the unknown fields of
// the stored one.
func (k *keeper) update(key, written string, read func() (string, error)) (string, error) {
	unknown, err := k.unknownFields(key, read)
	if err != nil {
		return "", err
	}
	return unknown.addToStored(written)
}
