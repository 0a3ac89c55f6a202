// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import "fmt"

// ValidateLimit returns an error if limit is not a valid limit of hooks that run in parallel (see Options.Limit).
func ValidateLimit(limit int) error {
	if limit < 0 {
		return fmt.Errorf("invalid limit of %d parallel hooks: must be positive, or 0 for no limit", limit)
	}
	return nil
}
