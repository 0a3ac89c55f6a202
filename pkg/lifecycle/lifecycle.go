// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle lets a Go program take part in operations: it registers handlers for events, which
// the actions of package action call (docs/reference.md, "Lifecycle events").
package lifecycle

import "github.com/ordered-helm/helm/internal/lifecycle"

type (
	// Emitter contains the handlers of events. The zero value has none. Its methods On and OnWait
	// register handlers; the field Lifecycle of an action calls them.
	Emitter = lifecycle.Emitter
	// Event is the name of a point of an operation.
	Event = lifecycle.Event
	// Handler handles an event. An error ends the operation, as a hook that fails does.
	Handler = lifecycle.Handler
	// WaitHandler handles the event Wait.
	WaitHandler = lifecycle.WaitHandler
	// Request describes the operation that has an event.
	Request = lifecycle.Request
	// Manifest is a list of documents.
	Manifest = lifecycle.Manifest
	// Document is one document of a manifest.
	Document = lifecycle.Document
	// Error reports that a handler has failed.
	Error = lifecycle.Error
	// UnknownEventError reports the name of an event that does not exist.
	UnknownEventError = lifecycle.UnknownEventError
	// WeightError reports a weight that is not between 0 and 1.
	WeightError = lifecycle.WeightError
)

// The events, in the order in which an operation has them.
const (
	ChartLoaded  = lifecycle.ChartLoaded
	PreRender    = lifecycle.PreRender
	PostRender   = lifecycle.PostRender
	PreValidate  = lifecycle.PreValidate
	PostValidate = lifecycle.PostValidate
	PreInstall   = lifecycle.PreInstall
	PostInstall  = lifecycle.PostInstall
	PreUpgrade   = lifecycle.PreUpgrade
	PostUpgrade  = lifecycle.PostUpgrade
	PreRollback  = lifecycle.PreRollback
	PostRollback = lifecycle.PostRollback
	PreDelete    = lifecycle.PreDelete
	PostDelete   = lifecycle.PostDelete
	PreList      = lifecycle.PreList
	PostList     = lifecycle.PostList
	Wait         = lifecycle.Wait
	Ready        = lifecycle.Ready
)

// NewDocument returns a document with a text in YAML, for adding it to a manifest.
func NewDocument(text string) *Document { return lifecycle.NewDocument("", text) }
