// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// HookDeleteTimeout is the key of the annotation that says how many seconds to wait until
// a deleted hook no longer exists.
const HookDeleteTimeout = "helm.sh/hook-delete-timeout"

const maxSeconds = uint64(math.MaxInt64 / time.Second)

// ReadHookDeleteTimeout returns how long to wait until a deleted hook no longer exists; 0
// means not to wait. set reports whether the annotation exists. The error is a *ValueError.
func ReadHookDeleteTimeout(annotations map[string]string) (timeout time.Duration, set bool, err error) {
	value, set := annotations[HookDeleteTimeout]
	if !set {
		return 0, false, nil
	}
	text := strings.TrimSpace(value)
	if text == "" {
		return 0, true, newValueError(HookDeleteTimeout, value, "must be a number of seconds; omit the annotation to wait as long as --timeout")
	}
	if strings.Trim(text, "0123456789") != "" {
		return 0, true, newValueError(HookDeleteTimeout, value, `must be a whole number of seconds without a unit, such as "30", or "0" to not wait`)
	}
	seconds, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seconds > maxSeconds {
		return 0, true, newValueError(HookDeleteTimeout, value, "must be at most %d seconds", maxSeconds)
	}
	return time.Duration(seconds) * time.Second, true, nil
}
