// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"time"

	"github.com/ordered-helm/helm/internal/wait"
)

// defaultStandstill is wait.Timeouts.Standstill, unless the operation has a shorter timeout.
const defaultStandstill = 10 * time.Second

// NewTimeouts combines the timeout of the whole operation with the readiness timeout of
// single resources; if that is 0, resources may stand still for defaultStandstill, or
// operationTimeout if that is shorter. It is an error if readinessTimeout is negative or longer than
// operationTimeout.
func NewTimeouts(operationTimeout, readinessTimeout time.Duration, ordered bool) (wait.Timeouts, error) {
	switch {
	case ordered && operationTimeout < 0:
		return wait.Timeouts{}, fmt.Errorf("the timeout %s is negative: increase --timeout (0 means no limit)", operationTimeout)
	case readinessTimeout < 0:
		return wait.Timeouts{}, fmt.Errorf("the readiness timeout %s is negative", readinessTimeout)
	case operationTimeout > 0 && readinessTimeout > operationTimeout:
		return wait.Timeouts{}, fmt.Errorf("the readiness timeout %s is longer than the timeout of the whole operation, %s: increase --timeout, or lower --readiness-timeout", readinessTimeout, operationTimeout)
	}
	standstill := defaultStandstill
	if operationTimeout > 0 {
		standstill = min(standstill, operationTimeout)
	}
	return wait.Timeouts{Operation: operationTimeout, Readiness: readinessTimeout, Standstill: standstill}, nil
}
