// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package diagnosis finds out why an object, called the subject, is not ready
// (docs/reference.md, "Failure reports"). Causes can be in the pods and containers of a
// workload, in claims and storage classes, in references to objects that do not exist, in
// warning events, and in the log of a failing container.
//
// The package only reads from the cluster, within limits of time and requests. It checks
// whether Secrets exist, but never reads their contents. Package clusterreader sends the
// requests.
//
// The diagnosis of one subject (a subjectDiagnosis) visits the objects on which the subject
// depends. It collects findings, which are possible causes with a rank, and finally
// selects the most relevant ones. subject_diagnosis.go contains the table of the rules for
// each kind; the other files contain the rules for pods, containers, workloads, claims and
// services.
package diagnosis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
	"github.com/ordered-helm/helm/internal/redact"
)

// Subject is an object to diagnose, because it is not ready.
type Subject struct {
	GVK schema.GroupVersionKind
	GVR schema.GroupVersionResource
	// Namespace is empty for cluster-scoped objects.
	Namespace string
	Name      string
	// Object is the last observed state of the object, without managedFields. The Diagnoser
	// does not change it. If it is nil, the Diagnoser reads the object.
	Object *unstructured.Unstructured
}

// Cause describes one reason why a subject is not ready.
type Cause struct {
	// Object is the kind and name of the object that has the problem, as in "Pod shop/db-0".
	Object    string `json:"object"`
	Container string `json:"container,omitempty"`
	// Reason is one word in CamelCase. It is the reason that Kubernetes reports, if there
	// is one, such as CrashLoopBackOff, Unschedulable or FailedMount.
	Reason string `json:"reason"`
	// Message is a human-readable line of at most 600 characters.
	Message string `json:"message"`
	// Log contains the last lines of the log of Container.
	Log []string `json:"log,omitempty"`
	// Count is the number of pods with the same problem if there are several, and otherwise
	// 0. Object is the first of these pods.
	Count int `json:"count,omitempty"`
}

// String returns the cause in one line, without the log.
func (c Cause) String() string {
	return c.Location() + ": " + c.Explanation()
}

// Location names the object and the container in which the cause was found, as in
// "Pod shop/db-0 container db".
func (c Cause) Location() string {
	if c.Container == "" {
		return c.Object
	}
	return c.Object + " container " + c.Container
}

// Explanation returns the cause in one line without its location: the reason, the message, and
// how many other pods have the same problem.
func (c Cause) Explanation() string {
	line := c.Reason
	if c.Message != "" {
		line += ": " + c.Message
	}
	switch {
	case c.Count == 2:
		line += " (same on 1 more pod)"
	case c.Count > 2:
		line += fmt.Sprintf(" (same on %d more pods)", c.Count-1)
	}
	return line
}

const (
	// maxRequests is the maximum number of requests that all calls of Diagnose can send in
	// total.
	maxRequests = 100
	// maxBriefRequests is the maximum number of requests that one call of DiagnoseBriefly
	// can send.
	maxBriefRequests = 3
	// defaultTimeout is the timeout of each call of Diagnose or DiagnoseBriefly.
	defaultTimeout = 5 * time.Second
	// maxParallelRequests is the maximum number of requests that run in parallel.
	maxParallelRequests = 8
)

// DiagnoserConfig configures a Diagnoser. If a client is nil, the Diagnoser skips everything
// that needs it.
type DiagnoserConfig struct {
	clusterreader.Clients
	// DeployedLater reports whether the release contains a missing object but has not
	// written it yet. If so, it returns the part of the release that contains the object,
	// as in `layer "x" of chart y`; otherwise "". It must be safe for concurrent use. It
	// can be nil.
	DeployedLater func(kind schema.GroupKind, namespace, name string) string
	// Redactor removes the contents of Secrets from messages and logs. It can be nil.
	Redactor *redact.Redactor
}

// Diagnoser finds out why objects are not ready. It is safe for concurrent use.
type Diagnoser struct {
	config      DiagnoserConfig
	limit       *clusterreader.RequestLimit // of the requests of all calls of Diagnose
	maxParallel int
	timeout     time.Duration
	now         func() time.Time
}

// New returns a Diagnoser. One Diagnoser is enough for an operation.
func New(config DiagnoserConfig) *Diagnoser {
	return &Diagnoser{
		config: config, limit: clusterreader.NewRequestLimit(maxRequests, maxParallelRequests),
		maxParallel: maxParallelRequests, timeout: defaultTimeout, now: time.Now,
	}
}

// Diagnose returns up to five causes for each subject, the most relevant first. The result is
// in the order of subjects. Diagnose never fails: it skips objects that it is not allowed to
// read, and requests that would exceed the limits of time and requests. If it finds no cause
// because a permission is missing, it returns a cause with the reason Forbidden. Unless a
// limit is exceeded, the result depends only on the state of the cluster.
func (d *Diagnoser) Diagnose(ctx context.Context, subjects []Subject) [][]Cause {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	cache := clusterreader.NewRequestCache(d.config.Clients, d.limit)
	found := make([][]finding, len(subjects))
	d.forEach(len(subjects), func(n int) {
		found[n] = d.newSubjectDiagnosis(cache, false).diagnose(ctx, subjects[n])
	})
	// Read the logs last, and only those that will be printed, so that they do not use up
	// requests that other subjects need.
	var all []*finding
	for _, findings := range found {
		for n := range findings {
			all = append(all, &findings[n])
		}
	}
	d.forEach(len(all), func(n int) { d.addLog(ctx, cache, all[n]) })
	causes := make([][]Cause, len(subjects))
	for n, findings := range found {
		causes[n] = d.causes(findings)
	}
	return causes
}

// DiagnoseBriefly does what Diagnose does, but with at most three requests, for a subject for
// which the operation is still waiting. It reads no logs and no referenced objects. Its
// messages omit values that change all the time, such as ages, so that the same problem
// always has the same message. It returns no cause for a subject without problems.
func (d *Diagnoser) DiagnoseBriefly(ctx context.Context, subject Subject) []Cause {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	cache := clusterreader.NewRequestCache(d.config.Clients, d.limit.WithTotal(maxBriefRequests))
	found := d.newSubjectDiagnosis(cache, true).diagnose(ctx, subject)
	return d.causes(slices.DeleteFunc(found, func(f finding) bool { return f.key == keyHealthy }))
}

// newSubjectDiagnosis returns a subjectDiagnosis that sends its requests with cache. brief is
// true for DiagnoseBriefly.
func (d *Diagnoser) newSubjectDiagnosis(cache *clusterreader.RequestCache, brief bool) *subjectDiagnosis {
	w := &subjectDiagnosis{cluster: clusterreader.NewReader(cache, d.now), findings: &findings{}, brief: brief, now: d.now}
	w.references = &referenceChecker{cluster: w.cluster, findings: w.findings, deployedLater: d.config.DeployedLater}
	if !brief {
		w.references.lookupsLeft = maxLookups
	}
	return w
}

// forEach calls do with each number from 0 to n-1. It starts the calls in this order, and
// runs at most d.maxParallel of them in parallel.
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
