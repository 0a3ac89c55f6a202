// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import "slices"

// deployOperations are the values that DeployOn can list.
var deployOperations = [...]string{"install", "upgrade", "rollback"}

// ReadDeployOn returns the operations that value, the value of DeployOn, lists; nil if it lists none. The error
// is a *ValueError.
func ReadDeployOn(value any) ([]string, error) {
	names, err := ReadNames(DeployOn, value)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.Contains(deployOperations[:], name) {
			return nil, newValueError(DeployOn, value, "%q is no operation: list any of install, upgrade and rollback", truncate(name))
		}
	}
	return names, nil
}
