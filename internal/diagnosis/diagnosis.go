// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package diagnosis says why an object is not ready. It walks down from the
// object to the cause: to the pods of a workload and their containers, to claims
// and storage classes, to objects that are named but do not exist, to the warning
// events of all of these and to the last lines of a failing container's log.
//
// It only reads, within limits of time and requests, and of Secrets it reads
// nothing but whether they exist.
package diagnosis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/ordered-helm/helm/internal/redact"
)

// Subject is an object that is not ready.
type Subject struct {
	GVK schema.GroupVersionKind
	GVR schema.GroupVersionResource
	// Namespace is empty for objects outside namespaces.
	Namespace string
	Name      string
	// Object is the last version seen, without managedFields; it is only read.
	// If nil, Explain and Peek read it from the server.
	Object *unstructured.Unstructured
}

// Cause is one thing that keeps a subject from being ready.
type Cause struct {
	// Object is where it was found: "Pod shop/db-0".
	Object    string `json:"object"`
	Container string `json:"container,omitempty"`
	// Reason is one word in CamelCase, as Kubernetes has it where it has one:
	// CrashLoopBackOff, Unschedulable, FailedMount.
	Reason string `json:"reason"`
	// Message is one line for people, of at most 600 characters.
	Message string `json:"message"`
	// Log is the last lines of the container's log.
	Log []string `json:"log,omitempty"`
	// Count is on how many pods the same was found, when on more than one;
	// Object names the first.
	Count int `json:"count,omitempty"`
}

// String is the cause in one line, without the log.
func (c Cause) String() string {
	var line strings.Builder
	line.WriteString(c.Object)
	if c.Container != "" {
		line.WriteString(" container " + c.Container)
	}
	line.WriteString(": " + c.Reason)
	if c.Message != "" {
		line.WriteString(": " + c.Message)
	}
	switch {
	case c.Count == 2:
		line.WriteString(" (the same on 1 more pod)")
	case c.Count > 2:
		fmt.Fprintf(&line, " (the same on %d more pods)", c.Count-1)
	}
	return line.String()
}

// The limits that Config's zero values stand for.
const (
	DefaultMaxRequests = 100
	DefaultTimeout     = 5 * time.Second
	DefaultMaxLogLines = 10
	DefaultMaxParallel = 8
)

// Config is what a Diagnoser works with. A client that is nil leaves out what it
// would be needed for.
type Config struct {
	// Dynamic reads pods, events and whatever else lies on the way.
	Dynamic dynamic.Interface
	// Metadata tells whether an object exists that another one names. It never
	// gets to see more than metadata, so no Secret's content is read.
	Metadata metadata.Interface
	// Clientset reads the logs of pods.
	Clientset kubernetes.Interface
	// DeployedLater names, for an object that the release itself deploys and has not
	// written so far, where it comes: `layer "x" of chart y`. It answers "" for
	// any other object, is called from several goroutines, and may be nil.
	DeployedLater func(kind schema.GroupKind, namespace, name string) string
	// Redactor removes the contents of Secrets from messages and logs. It may be nil.
	Redactor *redact.Redactor

	// MaxRequests is how many requests all calls of Explain together may send.
	// Default DefaultRequests.
	MaxRequests int
	// Timeout bounds one call of Explain or Peek. Default DefaultTimeout.
	Timeout time.Duration
	// MaxLogLines is how many lines of a log are kept. Default DefaultLogLines.
	MaxLogLines int
	// MaxParallel is how many requests run at once. Default DefaultParallel.
	MaxParallel int
}

// Diagnoser finds causes. Its methods may be called from several goroutines.
type Diagnoser struct {
	Config
	slots     chan struct{}
	remaining atomic.Int64 // requests, to Explain
	now       func() time.Time
}

// New returns a Diagnoser; one serves a whole operation.
func New(config Config) *Diagnoser {
	d := &Diagnoser{Config: config, now: time.Now}
	if d.MaxRequests <= 0 {
		d.MaxRequests = DefaultMaxRequests
	}
	if d.Timeout <= 0 {
		d.Timeout = DefaultTimeout
	}
	if d.MaxLogLines <= 0 {
		d.MaxLogLines = DefaultMaxLogLines
	}
	if d.MaxParallel <= 0 {
		d.MaxParallel = DefaultMaxParallel
	}
	d.slots = make(chan struct{}, d.MaxParallel)
	d.remaining.Store(int64(d.MaxRequests))
	return d
}

// Diagnose returns the causes of each subject, in the order of the subjects, the
// most telling first and at most five of each. It never fails: what may not be
// read, or would take too long or too many requests, is left out. Where nothing
// was found because a permission is missing, that is the one cause, with the
// reason Forbidden. The same state of the server gives the same answer, unless a
// limit cuts it short.
func (d *Diagnoser) Diagnose(ctx context.Context, subjects []Subject) [][]Cause {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	s := newSession(d, &d.remaining)
	found := make([][]finding, len(subjects))
	forEach(len(subjects), d.MaxParallel, func(n int) {
		w := &walk{session: s, subject: subjects[n]}
		found[n] = w.diagnose(ctx)
	})
	// Logs come last, and only those that will be printed, so that they do not
	// use up what the walk of another subject needs.
	var all []*finding
	for _, findings := range found {
		for n := range findings {
			all = append(all, &findings[n])
		}
	}
	forEach(len(all), d.MaxParallel, func(n int) { s.addLog(ctx, all[n]) })
	causes := make([][]Cause, len(subjects))
	for n, findings := range found {
		causes[n] = d.causes(findings)
	}
	return causes
}

// DiagnoseBriefly is Explain for a subject that is still waited for: without logs, without
// looking up what the subject refers to, and with no more than three requests.
// Its messages leave out what changes all the time, such as ages. What runs as it
// should has no cause, as that says nothing while one waits.
func (d *Diagnoser) DiagnoseBriefly(ctx context.Context, subject Subject) []Cause {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	remaining := new(atomic.Int64)
	remaining.Store(maxBriefRequests)
	s := newSession(d, remaining)
	w := &walk{session: s, subject: subject, brief: true}
	return d.causes(slices.DeleteFunc(w.diagnose(ctx), func(f finding) bool { return f.key == keyHealthy }))
}

// forEach calls do for 0 to n-1, begun in this order, a few at a time, and
// returns when all calls have.
func forEach(n, parallel int, do func(int)) {
	var calls errgroup.Group
	calls.SetLimit(parallel)
	for i := range n {
		calls.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = calls.Wait() // none of them fails
}
