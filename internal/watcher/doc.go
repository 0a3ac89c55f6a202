// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package watcher waits until objects in a cluster are ready, have completed, or no longer
// exist (docs/reference.md, "How readiness is observed"). It decides when to watch and read
// the objects. Package readiness decides from their content whether they are ready.
//
// One Watcher serves a whole operation. A Group is one wait, for several objects, each of
// which is a Target to the caller and an item inside the package. A stream observes one
// resource in one namespace, with a watch or, if that is not allowed, by polling. All
// groups share it. It delivers observations, which are versions of objects, to the items. A
// watch starts from the resource version that the write of an object returned, so that no
// change is missed. The Watcher sends no request for an object that was ready when it was
// written.
package watcher
