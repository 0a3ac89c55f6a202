// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartscripts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/luasandbox"
	"github.com/ordered-helm/helm/internal/terminalsafe"
)

// PermissionRequest says which permissions a chart asks for.
type PermissionRequest struct {
	// Chart is the name of the chart, or its path if it is a subchart or library.
	Chart       string
	Permissions []luasandbox.Permission
}

// String returns the text with which people are asked, without the question.
func (r PermissionRequest) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Chart %q is requesting the following additional permissions:\n", terminalsafe.Sanitize(r.Chart))
	for _, p := range r.Permissions {
		fmt.Fprintf(&b, "  - %s: %s\n", p, Description(p))
	}
	return b.String()
}

// PermissionError reports that a chart asks for permissions that were not accepted. Nothing was changed.
type PermissionError struct {
	PermissionRequest
	// Declined says that somebody was asked, and has not accepted.
	Declined bool
}

func (e *PermissionError) Error() string {
	names := make([]string, len(e.Permissions))
	for i, p := range e.Permissions {
		names[i] = string(p)
	}
	if e.Declined {
		return fmt.Sprintf("the permissions of chart %q were not accepted: %s", e.Chart, strings.Join(names, ", "))
	}
	return fmt.Sprintf("the scripts of chart %q ask for permissions that were not accepted: %s: read them (helm show scripts, helm get scripts), and accept with --accept-perms %s, or with --yes whatever the charts ask for",
		e.Chart, strings.Join(names, ", "), strings.Join(names, ","))
}

// Acceptance says which permissions are accepted.
type Acceptance struct {
	// Accepted contains the names of the permissions that every chart can have. If it is not empty,
	// Ask is not used.
	Accepted []string
	// Ask asks whether a chart gets the permissions for which it asks. If it is nil, it gets none.
	Ask func(context.Context, PermissionRequest) (bool, error)
}

// Grant returns the permissions of each chart with permissions, by path, or an error if one of the
// charts asks for more than is accepted: a *PermissionError, or that of Ask.
func (a Acceptance) Grant(ctx context.Context, charts []*Chart) (map[string][]luasandbox.Permission, error) {
	for _, name := range a.Accepted {
		if _, err := ParsePermission(name); err != nil {
			return nil, err
		}
	}
	accepted := map[string][]luasandbox.Permission{}
	// People read about the outermost chart first.
	for _, c := range slices.Backward(charts) {
		if len(c.Permissions) == 0 {
			continue
		}
		if err := a.authorize(ctx, PermissionRequest{c.Path, c.Permissions}); err != nil {
			return nil, err
		}
		accepted[c.Path] = c.Permissions
	}
	return accepted, nil
}

// authorize returns an error unless everything for which a chart asks is accepted.
func (a Acceptance) authorize(ctx context.Context, r PermissionRequest) error {
	missing := slices.DeleteFunc(slices.Clone(r.Permissions), func(p luasandbox.Permission) bool {
		return slices.Contains(a.Accepted, string(p))
	})
	switch {
	case len(missing) == 0:
		return nil
	case len(a.Accepted) > 0 || a.Ask == nil:
		return &PermissionError{PermissionRequest{r.Chart, missing}, false}
	}
	accepted, err := a.Ask(ctx, r)
	if err == nil && !accepted {
		err = &PermissionError{r, true}
	}
	return err
}
