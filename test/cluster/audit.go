// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	auditTimeout = 30 * time.Second
	// markerPrefix is the prefix of the names of namespaces that are never created. A request
	// for such a namespace marks a position in the audit log.
	markerPrefix = "audit-marker-"
)

// The stages of a request for which the audit log contains events.
const (
	// StageComplete is the stage in which the response was sent.
	StageComplete = "ResponseComplete"
	// StageStarted is the start of a watch. The end of the watch has StageComplete.
	StageStarted = "ResponseStarted"
	// StagePanic is the stage of a request that caused a panic in the server.
	StagePanic = "Panic"
)

// Event is one entry in the API server's audit log: a request in one of its stages.
type Event struct {
	// Stage is one of the stages above.
	Stage string
	// Verb is the Kubernetes verb: get, list, watch, create, update, patch, delete,
	// deletecollection.
	Verb string
	// Group, Resource and Subresource identify the type of the object.
	Group, Resource, Subresource string
	// Namespace and Name identify the object. The name is empty for a list, and if the
	// server generated the name.
	Namespace, Name string
	// URI is the path and query of the request.
	URI string
	// User and UserAgent identify the client. ImpersonatedUser is the user as which it has sent the
	// request; empty if that is User.
	User, UserAgent, ImpersonatedUser string
	// Received is the time at which the request was received, Completed the time at which the
	// stage was reached.
	Received, Completed time.Time
	// Code is the HTTP status.
	Code int
	// Request and Response are the request and response bodies, in JSON. The log contains
	// them for create, update, patch and delete of everything except Secrets, events and
	// tokens.
	Request, Response json.RawMessage
}

// DecodeResponse decodes the object in the response. For a write, this is the object as it was
// stored.
func (e Event) DecodeResponse(into any) error {
	if len(e.Response) == 0 {
		return fmt.Errorf("the audit log has no response of %s %s", e.Verb, e.URI)
	}
	if err := json.Unmarshal(e.Response, into); err != nil {
		return fmt.Errorf("decode the response of %s %s: %w", e.Verb, e.URI, err)
	}
	return nil
}

// line is an entry of the audit log in the format of the API server.
type line struct {
	Stage      string
	RequestURI string
	Verb       string
	User       struct{ Username string }
	UserAgent  string
	// ImpersonatedUser is the user as which the client has sent the request.
	ImpersonatedUser struct{ Username string }
	ObjectRef        struct {
		Resource, Subresource, Namespace, Name string
		APIGroup                               string
	}
	ResponseStatus           struct{ Code int }
	RequestObject            json.RawMessage
	ResponseObject           json.RawMessage
	RequestReceivedTimestamp time.Time
	StageTimestamp           time.Time
}

func (l line) event() Event {
	return Event{
		Stage:            l.Stage,
		Verb:             l.Verb,
		Group:            l.ObjectRef.APIGroup,
		Resource:         l.ObjectRef.Resource,
		Subresource:      l.ObjectRef.Subresource,
		Namespace:        l.ObjectRef.Namespace,
		Name:             l.ObjectRef.Name,
		URI:              l.RequestURI,
		User:             l.User.Username,
		UserAgent:        l.UserAgent,
		ImpersonatedUser: l.ImpersonatedUser.Username,
		Received:         l.RequestReceivedTimestamp,
		Completed:        l.StageTimestamp,
		Code:             l.ResponseStatus.Code,
		Request:          l.RequestObject,
		Response:         l.ResponseObject,
	}
}

// auditLog stores the events of an audit log and the position up to which it was read.
type auditLog struct {
	mu     sync.Mutex
	path   string
	offset int64
	events []Event
}

// Audit returns the events in the audit log of the cluster up to the call, in the order in
// which their stages were reached.
func (c *Cluster) Audit(tb testing.TB) []Event {
	tb.Helper()
	return c.audited(tb, func(Event) bool { return true })
}

// AuditIn returns the events of Audit for one namespace. It is faster than filtering Audit.
func (c *Cluster) AuditIn(tb testing.TB, namespace string) []Event {
	tb.Helper()
	return c.audited(tb, func(e Event) bool { return e.Namespace == namespace })
}

func (c *Cluster) audited(tb testing.TB, keep func(Event) bool) []Event {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), auditTimeout)
	defer cancel()
	events, err := c.readAudit(ctx, keep)
	if err != nil {
		tb.Fatalf("read the audit log: %v", err)
	}
	return events
}

// AuditMark is a position in the audit log.
type AuditMark struct{ offset int64 }

// AuditMark returns the current end of the audit log. Entries for earlier requests can
// still follow it, because the log is written with a short delay.
func (c *Cluster) AuditMark(tb testing.TB) AuditMark {
	tb.Helper()
	info, err := os.Stat(c.audit.path)
	if err != nil {
		tb.Fatalf("find the end of the audit log: %v", err)
	}
	return AuditMark{offset: info.Size()}
}

// AuditAfter calls show for each event between a mark and the call. In contrast to Audit, it
// does not store the events, which would need much memory if there are many objects.
func (c *Cluster) AuditAfter(tb testing.TB, mark AuditMark, show func(Event)) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), auditTimeout)
	defer cancel()
	if err := c.readAuditAfter(ctx, mark.offset, show); err != nil {
		tb.Fatalf("read the audit log: %v", err)
	}
}

func (c *Cluster) readAuditAfter(ctx context.Context, offset int64, show func(Event)) error {
	marker, err := c.leaveMarker(ctx)
	if err != nil {
		return err
	}
	for found := false; !found; {
		offset, err = scan(c.audit.path, offset, func(e Event) {
			found = found || e.Name == marker
			if !strings.HasPrefix(e.Name, markerPrefix) {
				show(e)
			}
		})
		if err != nil {
			return err
		}
		if found {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the log to be written: %w", ctx.Err())
		case <-time.After(lookInterval):
		}
	}
	return nil
}

// leaveMarker sends a request that has a unique entry in the audit log, and returns the name
// by which the entry is found.
func (c *Cluster) leaveMarker(ctx context.Context) (string, error) {
	marker := fmt.Sprintf("%s%016x", markerPrefix, rand.Uint64())
	_, err := c.client.CoreV1().Namespaces().Get(ctx, marker, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("leave a mark: %w", err)
	}
	return marker, nil
}

func (c *Cluster) readAudit(ctx context.Context, keep func(Event) bool) ([]Event, error) {
	from := c.audit.length() // the mark comes after what was read before
	marker, err := c.leaveMarker(ctx)
	if err != nil {
		return nil, err
	}
	c.audit.mu.Lock()
	defer c.audit.mu.Unlock()
	for {
		if err := c.audit.read(); err != nil {
			return nil, err
		}
		isMarker := func(e Event) bool { return e.Name == marker }
		if slices.ContainsFunc(c.audit.events[from:], isMarker) {
			break
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the log to be written: %w", ctx.Err())
		case <-time.After(lookInterval):
		}
	}
	var events []Event
	for _, e := range c.audit.events {
		if keep(e) && !strings.HasPrefix(e.Name, markerPrefix) {
			events = append(events, e)
		}
	}
	return events, nil
}

func (a *auditLog) length() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.events)
}

// read reads the events that the server has added since the last call.
func (a *auditLog) read() (err error) {
	a.offset, err = scan(a.path, a.offset, func(e Event) { a.events = append(a.events, e) })
	return err
}

// scan calls show for the events in an audit log after an offset, and returns the offset of
// the end of the last one. If the offset is inside a line, it starts with the next line.
func scan(path string, offset int64, show func(Event)) (end int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return offset, err
	}
	defer func() { _ = file.Close() }()
	start := max(0, offset-1)
	if _, err := file.Seek(start, io.SeekStart); err != nil {
		return offset, err
	}
	reader := bufio.NewReaderSize(file, 1<<20)
	for first := offset > 0; ; first = false {
		text, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			// The server has not finished writing this line.
			return max(start, offset), nil
		}
		if err != nil {
			return offset, err
		}
		start += int64(len(text))
		if first { // the end of the previous line
			continue
		}
		var l line
		if err := json.Unmarshal(bytes.TrimSpace(text), &l); err != nil {
			return offset, fmt.Errorf("line that ends at byte %d: %w", start, err)
		}
		show(l.event())
	}
}
