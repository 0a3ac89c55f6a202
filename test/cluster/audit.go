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
	// markerPrefix begins the names of namespaces that nobody makes: who asks
	// for one leaves a mark in the log.
	markerPrefix = "audit-marker-"
)

// The stages of a request that the log shows.
const (
	// StageComplete is a request that was answered.
	StageComplete = "ResponseComplete"
	// StageStarted is a watch that has begun, StageComplete its end.
	StageStarted = "ResponseStarted"
	// StagePanic is a request at which the server failed.
	StagePanic = "Panic"
)

// Event is one entry of the API server's audit log.
type Event struct {
	// Stage is one of the stages above.
	Stage string
	// Verb is Kubernetes' verb: get, list, watch, create, update, patch,
	// delete, deletecollection.
	Verb string
	// Group, Resource and Subresource say what kind of object it was about.
	Group, Resource, Subresource string
	// Namespace and Name say which object. The name is empty for a list, and
	// where the server made it up.
	Namespace, Name string
	// URI is the request's path and query.
	URI string
	// User and UserAgent say who asked.
	User, UserAgent string
	// Received is when the request came, Completed when the stage was
	// reached.
	Received, Completed time.Time
	// Code is the HTTP status.
	Code int
	// Request and Response are the objects asked with and answered, in JSON.
	// The log has them for create, update, patch and delete of everything but
	// Secrets, events and tokens.
	Request, Response json.RawMessage
}

// DecodeResponse decodes the object that the server answered with, for a
// write the object as it then was.
func (e Event) DecodeResponse(into any) error {
	if len(e.Response) == 0 {
		return fmt.Errorf("the audit log has no response of %s %s", e.Verb, e.URI)
	}
	if err := json.Unmarshal(e.Response, into); err != nil {
		return fmt.Errorf("decode the response of %s %s: %w", e.Verb, e.URI, err)
	}
	return nil
}

// line is an entry as the server writes it.
type line struct {
	Stage      string
	RequestURI string
	Verb       string
	User       struct{ Username string }
	UserAgent  string
	ObjectRef  struct {
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
		Stage:       l.Stage,
		Verb:        l.Verb,
		Group:       l.ObjectRef.APIGroup,
		Resource:    l.ObjectRef.Resource,
		Subresource: l.ObjectRef.Subresource,
		Namespace:   l.ObjectRef.Namespace,
		Name:        l.ObjectRef.Name,
		URI:         l.RequestURI,
		User:        l.User.Username,
		UserAgent:   l.UserAgent,
		Received:    l.RequestReceivedTimestamp,
		Completed:   l.StageTimestamp,
		Code:        l.ResponseStatus.Code,
		Request:     l.RequestObject,
		Response:    l.ResponseObject,
	}
}

// auditLog reads a log that grows.
type auditLog struct {
	mu     sync.Mutex
	path   string
	offset int64
	events []Event
}

// Audit returns the audit log of the cluster, all that happened before the
// call, in the order in which the requests were answered.
func (c *Cluster) Audit(tb testing.TB) []Event {
	tb.Helper()
	return c.audited(tb, func(Event) bool { return true })
}

// AuditIn is what Audit returns of one namespace, which is less to copy.
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

// AuditMark is a place in the audit log.
type AuditMark struct{ offset int64 }

// AuditMark returns where the audit log ends now. What was asked before may
// still come after it: the log is written a little later.
func (c *Cluster) AuditMark(tb testing.TB) AuditMark {
	tb.Helper()
	info, err := os.Stat(c.audit.path)
	if err != nil {
		tb.Fatalf("find the end of the audit log: %v", err)
	}
	return AuditMark{offset: info.Size()}
}

// AuditAfter shows each event after a mark, all that happened before the call.
// Unlike Audit it keeps nothing, so that a log of many objects can be read.
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

// leaveMarker has the log say something that nothing else says.
func (c *Cluster) leaveMarker(ctx context.Context) (string, error) {
	marker := fmt.Sprintf("%s%016x", markerPrefix, rand.Uint64())
	_, err := c.client.CoreV1().Namespaces().Get(ctx, marker, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("leave a mark: %w", err)
	}
	return marker, nil
}

func (c *Cluster) readAudit(ctx context.Context, keep func(Event) bool) ([]Event, error) {
	from := c.audit.length() // the mark comes after what was read before it was left
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

// read takes in the lines that were added since it was last called.
func (a *auditLog) read() (err error) {
	a.offset, err = scan(a.path, a.offset, func(e Event) { a.events = append(a.events, e) })
	return err
}

// scan shows the events of a log from an offset on, and returns where they end.
// An offset inside a line means the line after it.
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
			// What has no end of line yet is read next time.
			return max(start, offset), nil
		}
		if err != nil {
			return offset, err
		}
		start += int64(len(text))
		if first { // the end of the line before
			continue
		}
		var l line
		if err := json.Unmarshal(bytes.TrimSpace(text), &l); err != nil {
			return offset, fmt.Errorf("line that ends at byte %d: %w", start, err)
		}
		show(l.event())
	}
}
