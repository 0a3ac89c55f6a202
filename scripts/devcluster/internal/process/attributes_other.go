// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package process

import "syscall"

func childAttributes() *syscall.SysProcAttr { return nil }

// onFirstThread is only relevant if children end with their parent thread.
func onFirstThread() bool { return false }

// DetachedAttributes detaches a process from the terminal and the session of the process
// that starts it, if the system supports this.
func DetachedAttributes() *syscall.SysProcAttr { return nil }
