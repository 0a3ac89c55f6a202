// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package externalwait

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordered-helm/helm/internal/externalneed"
	"github.com/ordered-helm/helm/internal/httpretry"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/releasestatus"
	"github.com/ordered-helm/helm/internal/timing"
)

const (
	// releaseInterval is the time between two reads of the status of a release.
	releaseInterval = 2 * time.Second
	// readTimeout limits each read of the status of a release.
	readTimeout = 5 * time.Second
)

// errNoReleases reports that a Waiter was created without Config.Releases.
var errNoReleases = errors.New("the status of releases cannot be read")

// releasePoll reads the status of releases at intervals, for all waits together.
type releasePoll struct {
	releases Releases

	mu      sync.Mutex
	results map[releaseKey]*releaseResult
}

type releaseKey struct{ namespace, name string }

// releaseResult is the last result of reading the status of a release. mu is held during requests,
// so that waits for the same release share them.
type releaseResult struct {
	mu       sync.Mutex
	at       time.Time
	revision releasestatus.Revision
	err      error
}

func newReleasePoll(releases Releases) *releasePoll {
	return &releasePoll{releases: releases, results: map[releaseKey]*releaseResult{}}
}

// newest returns the newest revision of a release. It sends a request only if the last one was sent
// before since.
func (p *releasePoll) newest(ctx context.Context, key releaseKey, since time.Time) (releasestatus.Revision, error) {
	if p.releases == nil {
		return releasestatus.Revision{}, errNoReleases
	}
	p.mu.Lock()
	r := p.results[key]
	if r == nil {
		r = &releaseResult{}
		p.results[key] = r
	}
	p.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || r.at.Before(since) || errors.Is(r.err, context.Canceled) {
		r.at = time.Now()
		ctx, cancel := context.WithTimeout(httpretry.WithoutRetries(ctx), readTimeout)
		defer cancel()
		r.revision, r.err = p.releases.Newest(ctx, key.namespace, key.name)
	}
	return r.revision, r.err
}

// awaitRelease waits until a release is deployed. observe is called with each status.
func (w *Waiter) awaitRelease(ctx context.Context, n externalneed.Need, observe func(Status)) error {
	source := new(int)
	defer w.outages.set(source, false)
	key := releaseKey{w.namespaceOf(n), n.Name}
	for since := time.Now(); ; since = time.Now().Add(-releaseInterval / 2) {
		status, err := w.releaseStatus(ctx, n, key, since)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		w.outages.set(source, isNoResponse(err))
		observe(status)
		switch {
		case status.State == readiness.Ready:
			return nil
		case status.Denied != nil:
			return status.Denied
		case err != nil && !isNoResponse(err):
			return err
		}
		if !timing.Sleep(ctx, releaseInterval) {
			return context.Cause(ctx)
		}
	}
}

// releaseStatus reads the status of a release, unless it was read after since. The status describes
// the error, too.
func (w *Waiter) releaseStatus(ctx context.Context, n externalneed.Need, key releaseKey, since time.Time) (Status, error) {
	status := Status{Need: n, Namespace: key.namespace, State: readiness.InProgress}
	newest, err := w.releases.newest(ctx, key, since)
	switch {
	case apierrors.IsForbidden(err):
		p := w.config.Releases.Permission()
		status.Denied = &PermissionError{Verb: p.Verb, Resource: p.Resource, Namespace: key.namespace, Verbs: []string{p.Verb}, Err: err}
		status.Reason, status.Message = reasonForbidden, status.Denied.Error()
	case err != nil:
		status.Reason, status.Message = reasonUnreadable, err.Error()
	case newest.Number == 0:
		status.State, status.Reason, status.Message = readiness.Missing, "NotFound", "there is no such release"
	case newest.Status == release.StatusDeployed:
		status.State, status.Reason = readiness.Ready, "Deployed"
	default:
		status.Reason = "NotDeployed"
		status.Message = fmt.Sprintf("its newest revision, %d, has the status %q, not deployed", newest.Number, newest.Status)
	}
	return status, err
}
