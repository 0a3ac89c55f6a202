// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cacheDelay is the time after which a request is read from the cache again, if the cache does not contain
// the last change of the controller yet.
const cacheDelay = 50 * time.Millisecond

// writtenVersions remembers which versions of objects were written, because the cache may still contain older
// ones, and a decision about an old status would repeat what was done. It is safe for concurrent use.
type writtenVersions struct{ versions sync.Map }

// add remembers an object that was written.
func (w *writtenVersions) add(o client.Object) {
	w.versions.Store(client.ObjectKeyFromObject(o), o.GetResourceVersion())
}

func (w *writtenVersions) forget(key client.ObjectKey) { w.versions.Delete(key) }

// isNewer reports whether a newer version than that of an object in the cache was written.
func (w *writtenVersions) isNewer(key client.ObjectKey, cached client.Object) bool {
	written, found := w.versions.Load(key)
	if !found {
		return false
	}
	text, _ := written.(string)
	order, err := resourceversion.CompareResourceVersion(text, cached.GetResourceVersion())
	if err != nil || order <= 0 {
		w.forget(key)
		return false
	}
	return true
}
