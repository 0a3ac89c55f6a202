// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package readiness tells when objects that were written to a cluster are
// ready, and when objects that were deleted are gone.
//
// Compute judges a single version of an object and asks nobody: it is kstatus
// with the repairs that rollouts need. A Tracker follows objects over time. One
// Tracker serves a whole operation; it keeps one watch per resource and
// namespace for everybody who waits, starts it from the version that the write
// returned, and sends no request for what was ready when it was written.
package readiness
