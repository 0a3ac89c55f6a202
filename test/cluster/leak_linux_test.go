// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// goneTimeout is the maximum time that the cluster of a killed test may take to end.
const goneTimeout = 30 * time.Second

func TestKilledTestLeavesNoProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+dir)
	child.Stderr = os.Stderr
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("the child did not start a cluster: %v, %v", err, child.Wait())
	}
	processes := processesOf(t, dir)
	for _, program := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "run"} {
		if !containsProgram(processes, program) {
			t.Errorf("%s does not run in %s: %v", program, dir, processes)
		}
	}

	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Error("the child ended well although it was killed")
	}
	for pid, program := range processes {
		awaitGone(t, pid, program)
	}
	if left := processesOf(t, dir); len(left) > 0 {
		t.Errorf("processes that outlive the test: %v", left)
	}
}

func TestKilledSupervisorLeavesNoProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	c, err := start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	processes := processesOf(t, dir)
	if err := c.process.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for pid, program := range processes {
		awaitGone(t, pid, program)
	}
	if err := c.stop(); err == nil {
		t.Error("stop does not say that the cluster was gone before")
	}
}

// processesOf returns the processes whose command line contains dir.
func processesOf(t *testing.T, dir string) map[int]string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// A process that has just ended has no command line.
		raw, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if err == nil && bytes.Contains(raw, []byte(dir)) {
			found[pid] = strings.ReplaceAll(string(raw), "\x00", " ")
		}
	}
	return found
}

func containsProgram(processes map[int]string, program string) bool {
	for _, line := range processes {
		if strings.Contains(line, "/"+program+" ") || strings.Contains(line, " "+program+" ") {
			return true
		}
	}
	return false
}

// awaitGone waits until the process with the pid has ended.
func awaitGone(t *testing.T, pid int, program string) {
	t.Helper()
	deadline := time.Now().Add(goneTimeout)
	for !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs: %s", pid, program)
		}
		time.Sleep(lookInterval)
	}
}
