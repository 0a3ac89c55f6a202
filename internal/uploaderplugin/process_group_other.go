// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package uploaderplugin

import "os/exec"

// processGroup is a process. The processes that it starts are not known here.
type processGroup struct{ cmd *exec.Cmd }

func newProcessGroup(cmd *exec.Cmd) processGroup { return processGroup{cmd} }

// terminate ends the process.
func (g processGroup) terminate() error { return g.cmd.Process.Kill() }

// kill does nothing, because terminate has already ended the process.
func (processGroup) kill() {}
