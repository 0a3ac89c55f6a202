// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"encoding/json"
	"io"
	"math"
	"time"
)

// JSON writes a timeline to w as JSON. docs/reference.md, "The timeline", describes the
// fields. Times are in seconds since the start of the first operation.
func JSON(w io.Writer, t *Timeline) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(newDocument(t))
}

// schemaVersion is the version of the JSON format. It is increased when the meaning of a
// field changes.
const schemaVersion = 1

type document struct {
	Version    int                 `json:"version"`
	Start      time.Time           `json:"start"`
	Operations []documentOperation `json:"operations"`
	Warnings   []documentWarning   `json:"warnings,omitempty"`
}

type documentOperation struct {
	Name         string         `json:"name"`
	Release      string         `json:"release"`
	Namespace    string         `json:"namespace"`
	Revision     int            `json:"revision"`
	Ordered      bool           `json:"ordered"`
	Start        float64        `json:"start"`
	End          *float64       `json:"end,omitempty"`
	Deadline     *float64       `json:"deadline,omitempty"`
	Error        string         `json:"error,omitempty"`
	Spans        []documentSpan `json:"spans"`
	CriticalPath []string       `json:"criticalPath"`
}

type documentSpan struct {
	Kind      Kind               `json:"kind"`
	ID        string             `json:"id"`
	Chart     string             `json:"chart,omitempty"`
	Layer     string             `json:"layer,omitempty"`
	HookEvent string             `json:"hookEvent,omitempty"`
	State     State              `json:"state"`
	Critical  bool               `json:"critical"`
	Size      int                `json:"resourceCount,omitempty"`
	After     string             `json:"after,omitempty"`
	Start     *float64           `json:"start,omitempty"`
	Applied   *float64           `json:"applied,omitempty"`
	End       *float64           `json:"end,omitempty"`
	Message   string             `json:"message,omitempty"`
	Error     string             `json:"error,omitempty"`
	Log       string             `json:"log,omitempty"`
	Resources []documentResource `json:"resources,omitempty"`
}

type documentResource struct {
	Name      string           `json:"name"`
	Namespace string           `json:"namespace,omitempty"`
	Changes   []documentChange `json:"changes"`
}

type documentChange struct {
	At      float64 `json:"at"`
	State   string  `json:"state"`
	Message string  `json:"message,omitempty"`
	Cause   string  `json:"cause,omitempty"`
}

type documentWarning struct {
	At   float64 `json:"at"`
	Text string  `json:"text"`
}

// clock is the start of the first operation. Its methods convert times to seconds since
// then.
type clock time.Time

func (c clock) at(t time.Time) float64 {
	return math.Round(t.Sub(time.Time(c)).Seconds()*1000) / 1000
}

func (c clock) given(t time.Time) *float64 {
	if t.IsZero() {
		return nil
	}
	at := c.at(t)
	return &at
}

func newDocument(t *Timeline) *document {
	d := &document{Version: schemaVersion, Operations: []documentOperation{}}
	if len(t.Operations) > 0 {
		d.Start = t.Operations[0].Start
	}
	c := clock(d.Start)
	for _, o := range t.Operations {
		d.Operations = append(d.Operations, c.operation(o))
	}
	for _, w := range t.Warnings {
		d.Warnings = append(d.Warnings, documentWarning{c.at(w.At), w.Text})
	}
	return d
}

func (c clock) operation(o *Operation) documentOperation {
	d := documentOperation{
		Name: o.Name, Release: o.Release, Namespace: o.Namespace, Revision: o.Revision, Ordered: o.Ordered,
		Start: c.at(o.Start), End: c.given(o.End), Deadline: c.given(o.Deadline), Error: errorText(o.Err),
		Spans: []documentSpan{}, CriticalPath: []string{},
	}
	for _, s := range o.Spans {
		d.Spans = append(d.Spans, c.span(s))
	}
	for _, s := range o.CriticalPath() {
		d.CriticalPath = append(d.CriticalPath, s.ID)
	}
	return d
}

func (c clock) span(s *Span) documentSpan {
	d := documentSpan{
		Kind: s.Kind, ID: s.ID, Chart: s.Chart, Layer: s.Layer, HookEvent: s.HookEvent, State: s.State,
		Critical: s.Critical, Size: s.Size, After: s.After,
		Start: c.given(s.Start), Applied: c.given(s.Applied), End: c.given(s.End),
		Message: s.Message, Error: errorText(s.Err), Log: s.Log,
	}
	if d.Message == d.Error {
		d.Message = ""
	}
	for _, res := range s.Resources {
		r := documentResource{Name: res.Name, Namespace: res.Namespace}
		for _, change := range res.Changes {
			r.Changes = append(r.Changes, documentChange{c.at(change.At), change.State, change.Why(), change.Cause})
		}
		d.Resources = append(d.Resources, r)
	}
	return d
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
