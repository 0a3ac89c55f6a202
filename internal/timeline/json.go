// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"encoding/json"
	"io"
	"math"
	"time"
)

// JSON writes a timeline to w as JSON. Times are in seconds since the start of the first
// operation (docs/reference.md, "The timeline").
func JSON(w io.Writer, t *Timeline) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(newDocument(t))
}

// schemaVersion is the version of the JSON format. It is increased when the meaning of a
// field changes.
const schemaVersion = 1

// jsonTimeline is the JSON form of a Timeline. The types jsonOperation, jsonSpan and so on
// are the JSON forms of its parts.
type jsonTimeline struct {
	Version    int             `json:"version"`
	Start      time.Time       `json:"start"`
	Operations []jsonOperation `json:"operations"`
	Warnings   []jsonWarning   `json:"warnings,omitempty"`
}

type jsonOperation struct {
	Name         string     `json:"name"`
	Release      string     `json:"release"`
	Namespace    string     `json:"namespace"`
	Revision     int        `json:"revision"`
	Ordered      bool       `json:"ordered"`
	Start        float64    `json:"start"`
	End          *float64   `json:"end,omitempty"`
	Deadline     *float64   `json:"deadline,omitempty"`
	Error        string     `json:"error,omitempty"`
	Spans        []jsonSpan `json:"spans"`
	CriticalPath []string   `json:"criticalPath"`
}

type jsonSpan struct {
	Kind      SpanKind       `json:"kind"`
	ID        string         `json:"id"`
	Chart     string         `json:"chart,omitempty"`
	Layer     string         `json:"layer,omitempty"`
	HookEvent string         `json:"hookEvent,omitempty"`
	Handler   string         `json:"handlerEvent,omitempty"`
	State     SpanState      `json:"state"`
	Critical  bool           `json:"critical"`
	Size      int            `json:"resourceCount,omitempty"`
	After     string         `json:"after,omitempty"`
	Start     *float64       `json:"start,omitempty"`
	Applied   *float64       `json:"applied,omitempty"`
	End       *float64       `json:"end,omitempty"`
	Message   string         `json:"message,omitempty"`
	Error     string         `json:"error,omitempty"`
	Log       string         `json:"log,omitempty"`
	Resources []jsonResource `json:"resources,omitempty"`
}

type jsonResource struct {
	Name      string       `json:"name"`
	Namespace string       `json:"namespace,omitempty"`
	Changes   []jsonChange `json:"changes"`
}

type jsonChange struct {
	At      float64 `json:"at"`
	State   string  `json:"state"`
	Message string  `json:"message,omitempty"`
	Cause   string  `json:"cause,omitempty"`
}

type jsonWarning struct {
	At   float64 `json:"at"`
	Text string  `json:"text"`
}

// timeBase is the start of the first operation. Its methods convert parts of a timeline to
// their JSON forms, with times in seconds since that start.
type timeBase time.Time

// at converts a time to seconds, rounded to milliseconds.
func (base timeBase) at(t time.Time) float64 {
	return math.Round(t.Sub(time.Time(base)).Seconds()*1000) / 1000
}

// atOrNil is like at, but returns nil for the zero time, so that JSON omits it.
func (base timeBase) atOrNil(t time.Time) *float64 {
	if t.IsZero() {
		return nil
	}
	at := base.at(t)
	return &at
}

func newDocument(t *Timeline) *jsonTimeline {
	d := &jsonTimeline{Version: schemaVersion, Operations: []jsonOperation{}}
	if len(t.Operations) > 0 {
		d.Start = t.Operations[0].Start
	}
	base := timeBase(d.Start)
	for _, o := range t.Operations {
		d.Operations = append(d.Operations, base.operation(o))
	}
	for _, w := range t.Warnings {
		d.Warnings = append(d.Warnings, jsonWarning{base.at(w.At), w.Text})
	}
	return d
}

func (base timeBase) operation(o *Operation) jsonOperation {
	d := jsonOperation{
		Name: o.Name, Release: o.Release, Namespace: o.Namespace, Revision: o.Revision, Ordered: o.Ordered,
		Start: base.at(o.Start), End: base.atOrNil(o.End), Deadline: base.atOrNil(o.Deadline), Error: errorText(o.Err),
		Spans: []jsonSpan{}, CriticalPath: []string{},
	}
	for _, s := range o.Spans {
		d.Spans = append(d.Spans, base.span(s))
	}
	for _, s := range o.CriticalPath() {
		d.CriticalPath = append(d.CriticalPath, s.ID)
	}
	return d
}

func (base timeBase) span(s *Span) jsonSpan {
	d := jsonSpan{
		Kind: s.Kind, ID: s.ID, Chart: s.Chart, Layer: s.Layer, HookEvent: s.HookEvent, Handler: s.HandlerEvent, State: s.State,
		Critical: s.Critical, Size: s.Size, After: s.After,
		Start: base.atOrNil(s.Start), Applied: base.atOrNil(s.Applied), End: base.atOrNil(s.End),
		Message: s.Message, Error: errorText(s.Err), Log: s.Log,
	}
	if d.Message == d.Error {
		d.Message = ""
	}
	for _, res := range s.Resources {
		r := jsonResource{Name: res.Name, Namespace: res.Namespace}
		for _, change := range res.Changes {
			r.Changes = append(r.Changes, jsonChange{base.at(change.At), change.State, change.MessageWithoutState(), change.Cause})
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
