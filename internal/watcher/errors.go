// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher/notice"
)

var (
	// ErrFailed is NotReadyError.Cause if an object has failed permanently.
	ErrFailed = errors.New("failed permanently")
	// ErrClosed is NotReadyError.Cause if the Watcher was closed during the wait.
	ErrClosed = errors.New("the watcher was closed")
)

// NotReadyError is the error of a wait that ended before all objects were ready. Cause says
// why: it is ErrFailed, ErrClosed, Report.TimedOut of a target, a *ForbiddenError, or
// context.Cause of the wait's context.
type NotReadyError struct {
	// Reports has a report for each target that is not ready, in the order of the targets.
	Reports []Report
	Cause   error
}

// Error returns the cause and the reports on up to ten targets, failed ones first.
func (e *NotReadyError) Error() string {
	const shown = 10
	reports := slices.Clone(e.Reports)
	slices.SortStableFunc(reports, func(a, b Report) int { return failedFirst(a) - failedFirst(b) })
	lines := make([]string, 0, shown+1)
	for n, report := range reports {
		if n == shown {
			lines = append(lines, fmt.Sprintf("and %d more", len(reports)-shown))
			break
		}
		lines = append(lines, report.String())
	}
	return fmt.Sprintf("%v: %s", e.Cause, strings.Join(lines, "; "))
}

func failedFirst(r Report) int {
	if r.Status.State == readiness.Failed {
		return 0
	}
	return 1
}

// Unwrap returns Cause.
func (e *NotReadyError) Unwrap() error { return e.Cause }

// ForbiddenError reports that the account is not allowed to observe an object.
type ForbiddenError = notice.ForbiddenError
