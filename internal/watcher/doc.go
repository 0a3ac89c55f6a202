// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package watcher waits until objects in a cluster are ready, have completed, or no longer
// exist (docs/reference.md, "How readiness is observed"). It decides when to watch and when
// to read the objects. Package readiness decides from their content whether they are ready.
//
// One Watcher serves a whole operation. A TargetGroup waits for several objects at the same time.
// Callers describe each object by a Target; its state is a watchedObject. All objects of the
// same API resource and namespace, in all groups, share a stream: it watches them or, if
// that is not allowed, reads them at intervals, and delivers each version as an Observation.
//
// A watch starts from the resource version that was returned when an object was written, so
// that no change is missed. No request is sent for an object that was ready when written.
package watcher
