// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package diagnosis finds out why an object is not ready (docs/reference.md, "Failure
// reports"). It follows an object to the cause: from workloads to their pods and containers,
// to claims and storage classes, to referenced objects that do not exist, to warning events,
// and to the last lines of the log of a failing container.
//
// It only reads, within limits of time and requests. It checks whether Secrets exist, but
// never reads their contents. Package clusterreader sends the requests.
//
// One diagnosis is called a walk. It visits the objects on which the subject depends and
// collects findings, which are possible causes with a rank. In the end, it selects the most
// relevant findings. walk.go has the table of the rules by kind; the other files have the
// rules for pods, containers, workloads, claims and services.
package diagnosis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
	"github.com/ordered-helm/helm/internal/redact"
)

// Subject is an object that is not ready and whose causes are to be found.
type Subject struct {
	GVK schema.GroupVersionKind
	GVR schema.GroupVersionResource
	// Namespace is empty for cluster-scoped objects.
	Namespace string
	Name      string
	// Object is the last version that was observed, without managedFields. The Diagnoser
	// does not change it. If it is nil, the Diagnoser reads the object.
	Object *unstructured.Unstructured
}

// Cause is one reason why a subject is not ready.
type Cause struct {
	// Object names the object that has the problem, as in "Pod shop/db-0".
	Object    string `json:"object"`
	Container string `json:"container,omitempty"`
	// Reason is one word in CamelCase. It is the reason that Kubernetes reports, if there
	// is one, such as CrashLoopBackOff, Unschedulable or FailedMount.
	Reason string `json:"reason"`
	// Message is one line for people, of at most 600 characters.
	Message string `json:"message"`
	// Log has the last lines of the log of Container.
	Log []string `json:"log,omitempty"`
	// Count is the number of pods with the same problem, if there are several; otherwise 0.
	// Object is the first of them.
	Count int `json:"count,omitempty"`
}

// String returns the cause in one line, without the log.
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
		line.WriteString(" (same on 1 more pod)")
	case c.Count > 2:
		fmt.Fprintf(&line, " (same on %d more pods)", c.Count-1)
	}
	return line.String()
}

const (
	// maxRequests is the maximum number of requests of all calls of Diagnose together.
	maxRequests = 100
	// maxBriefRequests is the maximum number of requests of each call of DiagnoseBriefly.
	maxBriefRequests = 3
	// defaultTimeout limits each call of Diagnose and DiagnoseBriefly.
	defaultTimeout = 5 * time.Second
	// maxParallelRequests is the maximum number of requests that run in parallel.
	maxParallelRequests = 8
)

// Config configures a Diagnoser. If a client is nil, the Diagnoser skips everything that
// needs it.
type Config struct {
	clusterreader.Clients
	// DeployedLater is called with a missing object. If the release deploys the object but
	// has not written it yet, it returns where, as in `layer "x" of chart y`; otherwise "".
	// It must be safe for concurrent use. It can be nil.
	DeployedLater func(kind schema.GroupKind, namespace, name string) string
	// Redactor removes the contents of Secrets from messages and logs. It can be nil.
	Redactor *redact.Redactor
}

// Diagnoser finds the causes why objects are not ready. It is safe for concurrent use.
type Diagnoser struct {
	config      Config
	limit       *clusterreader.Limit // for the calls of Diagnose
	maxParallel int
	timeout     time.Duration
	now         func() time.Time
}

// New returns a Diagnoser. An operation needs only one.
func New(config Config) *Diagnoser {
	return &Diagnoser{
		config: config, limit: clusterreader.NewLimit(maxRequests, maxParallelRequests),
		maxParallel: maxParallelRequests, timeout: defaultTimeout, now: time.Now,
	}
}

// Diagnose returns up to five causes for each subject, the most relevant first. The result
// has the order of the subjects. Diagnose never fails: it skips what it is not allowed to
// read, and what would exceed the limits of time and requests. If it finds no cause because
// a permission is missing, it returns a cause with the reason Forbidden. The result depends
// only on the state of the server, unless a limit is exceeded.
func (d *Diagnoser) Diagnose(ctx context.Context, subjects []Subject) [][]Cause {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	session := clusterreader.NewSession(d.config.Clients, d.limit)
	found := make([][]finding, len(subjects))
	d.forEach(len(subjects), func(n int) {
		found[n] = d.newWalk(session, false).diagnose(ctx, subjects[n])
	})
	// Logs are read last, and only those that will be printed, so that they do not
	// use requests that another subject needs.
	var all []*finding
	for _, findings := range found {
		for n := range findings {
			all = append(all, &findings[n])
		}
	}
	d.forEach(len(all), func(n int) { d.addLog(ctx, session, all[n]) })
	causes := make([][]Cause, len(subjects))
	for n, findings := range found {
		causes[n] = d.causes(findings)
	}
	return causes
}

// DiagnoseBriefly is a cheaper Diagnose, for a subject that the operation still waits for.
// It reads no logs and no referenced objects, and sends at most three requests. Its
// messages omit values that change all the time, such as ages, so that equal problems have
// equal messages. It returns no cause for a subject without problems.
func (d *Diagnoser) DiagnoseBriefly(ctx context.Context, subject Subject) []Cause {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	session := clusterreader.NewSession(d.config.Clients, d.limit.WithTotal(maxBriefRequests))
	found := d.newWalk(session, true).diagnose(ctx, subject)
	return d.causes(slices.DeleteFunc(found, func(f finding) bool { return f.key == keyHealthy }))
}

// newWalk returns the diagnosis of one subject, which reads objects with the session.
func (d *Diagnoser) newWalk(session *clusterreader.Session, brief bool) *walk {
	w := &walk{cluster: clusterreader.NewReader(session, d.now), findings: &findings{}, brief: brief, now: d.now}
	w.references = &referenceChecker{cluster: w.cluster, findings: w.findings, deployedLater: d.config.DeployedLater}
	if !brief {
		w.references.lookupsLeft = maxLookups
	}
	return w
}

// forEach calls do with each number from 0 to n-1. It starts the calls in this order, and
// at most d.maxParallel of them run at the same time.
func (d *Diagnoser) forEach(n int, do func(int)) {
	var calls errgroup.Group
	calls.SetLimit(d.maxParallel)
	for i := range n {
		calls.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = calls.Wait() // no call returns an error
}
