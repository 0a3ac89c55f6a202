// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package scripts

import "syscall"

// maxRSS returns the maximum size of a process in bytes.
func maxRSS(usage *syscall.Rusage) int64 { return usage.Maxrss << 10 }
