// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartscripts

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/luasandbox"
	"github.com/ordered-helm/helm/internal/terminalsafe"
)

// Text returns the scripts of charts for people, the outermost chart first, with comments that say where
// they are and for which permissions they ask. accepted contains the permissions that were accepted for a
// revision, by the path of the chart; nil if this is not known. The text contains no control characters.
func Text(charts []*Chart, accepted map[string][]luasandbox.Permission) string {
	var b strings.Builder
	for _, c := range slices.Backward(charts) {
		fmt.Fprintf(&b, "---\n-- Chart: %s\n-- Permissions: %s\n", c.Path, permissionNames(c.Permissions))
		if names := accepted[c.Path]; len(names) > 0 {
			fmt.Fprintf(&b, "-- Accepted when the revision was created: %s\n", permissionNames(names))
		}
		for _, f := range c.Files {
			fmt.Fprintf(&b, "-- Source: %s\n%s\n", path.Join(c.Path, f.Name), strings.TrimRight(string(f.Data), "\n"))
		}
	}
	return terminalsafe.Sanitize(strings.ToValidUTF8(b.String(), "\uFFFD"))
}

func permissionNames(permissions []luasandbox.Permission) string {
	if len(permissions) == 0 {
		return "none"
	}
	names := make([]string, len(permissions))
	for i, p := range permissions {
		names[i] = string(p)
	}
	return strings.Join(names, ", ")
}
