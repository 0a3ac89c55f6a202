// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// patienceToStart is the --start-timeout for clusters that never become ready. It is
// sufficient for all steps before the one that fails, even on a busy machine.
const patienceToStart = "30s"

// devcluster runs the command devcluster, and returns its output.
func devcluster(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), env.command, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func TestUpStatusDown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	t.Cleanup(func() {
		cmd := exec.CommandContext(context.Background(), env.command, "down", "--dir", dir)
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, output)
		}
	})
	if stdout, stderr, err := devcluster(t, "status", "--dir", dir); err == nil {
		t.Errorf("status before up: %s%s", stdout, stderr)
	}
	if _, stderr, err := devcluster(t, "down", "--dir", dir); err != nil || !strings.Contains(stderr, "no cluster is running") {
		t.Errorf("down before up: %v, %s", err, stderr)
	}

	stdout, stderr, err := devcluster(t, "up", "--dir", dir)
	if err != nil {
		t.Fatalf("up: %v, %s", err, stderr)
	}
	kubeconfig := strings.TrimSpace(stdout)
	if kubeconfig != filepath.Join(dir, "kubeconfig") {
		t.Errorf("up prints %q", stdout)
	}
	server := serverOf(t, kubeconfig)
	if stdout, stderr, err := devcluster(t, "status", "--dir", dir); err != nil || !strings.Contains(stdout, kubeconfig) {
		t.Errorf("status: %v, %s%s", err, stdout, stderr)
	}
	stdout, stderr, err = devcluster(t, "up", "--dir", dir)
	if err != nil || strings.TrimSpace(stdout) != kubeconfig || !strings.Contains(stderr, "already running") {
		t.Errorf("a second up: %v, %s%s", err, stdout, stderr)
	}
	if _, stderr, err := devcluster(t, "run", "--dir", dir); err == nil || !strings.Contains(stderr, "already running in "+dir) {
		t.Errorf("run beside up: %v, %s", err, stderr)
	}
	if again := serverOf(t, kubeconfig); again != server {
		t.Errorf("the cluster was at %s and now is at %s", server, again)
	}

	if _, stderr, err := devcluster(t, "down", "--dir", dir); err != nil || !strings.Contains(stderr, "stopped") {
		t.Errorf("down: %v, %s", err, stderr)
	}
	if _, err := os.Stat(kubeconfig); !os.IsNotExist(err) {
		t.Errorf("the kubeconfig after down: %v", err)
	}
	if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(server, "https://")); err == nil {
		_ = conn.Close()
		t.Error("the server still listens after down")
	}
	if stdout, _, err := devcluster(t, "status", "--dir", dir); err == nil {
		t.Errorf("status after down: %s", stdout)
	}
}

func serverOf(t *testing.T, kubeconfig string) string {
	t.Helper()
	raw, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if server, ok := strings.CutPrefix(strings.TrimSpace(line), "server: "); ok {
			return server
		}
	}
	t.Fatalf("no server in %s", raw)
	return ""
}

func TestStalePIDFile(t *testing.T) {
	dir := t.TempDir()
	// The PID is that of this process, which is not a supervisor and must not be stopped.
	if err := os.WriteFile(filepath.Join(dir, "supervisor.pid"), fmt.Appendln(nil, os.Getpid()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kubeconfig"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if stdout, _, err := devcluster(t, "status", "--dir", dir); err == nil {
		t.Errorf("status: %s", stdout)
	}
	if _, stderr, err := devcluster(t, "down", "--dir", dir); err != nil || !strings.Contains(stderr, "no cluster is running") {
		t.Errorf("down: %v, %s", err, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "kubeconfig")); !os.IsNotExist(err) {
		t.Errorf("the old kubeconfig: %v", err)
	}
}

// brokenBinaries returns a directory with the binaries of a cluster, in which the named one is
// replaced by a script.
func brokenBinaries(t *testing.T, name, script string) string {
	t.Helper()
	genuine, err := os.ReadFile(filepath.Join(cluster(t).dir, "binaries"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, program := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"} {
		path := filepath.Join(dir, program)
		if program == name {
			if script == "" {
				continue
			}
			err = os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755)
		} else {
			err = os.Symlink(filepath.Join(strings.TrimSpace(string(genuine)), program), path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestStartFailureNamesCause(t *testing.T) {
	for _, test := range []struct {
		name, program, script string
		want                  []string
	}{
		{"process that ends", "kube-apiserver", "seq 40; echo unknown flag >&2; exit 3", []string{"kube-apiserver ended: exit status 3", "kube-apiserver.log", "40\nunknown flag"}},
		{"program that is missing", "etcd", "", []string{"etcd ended: cannot be started", "no such file"}},
		{"late process that ends", "kube-scheduler", "echo no configuration; exit 1", []string{"kube-scheduler ended: exit status 1", "no configuration"}},
		{"process that does nothing", "kwok", "echo idle; exec sleep 600", []string{"not ready after " + patienceToStart, "node node-1 ", "look at kwok", "idle"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cluster")
			bin := brokenBinaries(t, test.program, test.script)
			stdout, stderr, err := devcluster(t, "run", "--dir", dir, "--bin-dir", bin, "--start-timeout", patienceToStart)
			if err == nil || stdout != "" {
				t.Errorf("it started: %s", stdout)
			}
			for _, want := range test.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("no %q in:\n%s", want, stderr)
				}
			}
			if stdout, _, err := devcluster(t, "status", "--dir", dir); err == nil {
				t.Errorf("something still runs: %s", stdout)
			}
			if strings.Contains(test.name, "ends") {
				_, stderr, err = devcluster(t, "up", "--dir", dir, "--bin-dir", bin)
				if err == nil || !strings.Contains(stderr, test.want[0]) {
					t.Errorf("up says %v:\n%s", err, stderr)
				}
			}
		})
	}
}
