// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package watcher waits until objects in a cluster are ready, have completed, or no longer
// exist (docs/reference.md, "How it is watched").
//
// One Watcher serves a whole operation. It opens one watch for each resource and namespace,
// shared by all waits, and starts it from the version that the write returned. It sends no
// request for an object that was ready when it was written.
package watcher
