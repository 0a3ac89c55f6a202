// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package processid

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// startProcess starts a process that waits for its input, and returns its command and its
// identity.
func startProcess(t *testing.T) (*exec.Cmd, Process) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := in.Write([]byte("it runs\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "it runs\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	return cmd, Process{Host: "here", PID: cmd.Process.Pid, StartID: startID(cmd.Process.Pid)}
}

func TestHasExited(t *testing.T) {
	cmd, p := startProcess(t)
	if p.StartID == "" {
		t.Skip("no StartID on this system")
	}
	if p.HasExited() {
		t.Error("HasExited returned true for a running process")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, p.PID, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if !p.HasExited() {
		t.Error("HasExited returned false for a zombie")
	}
	_ = cmd.Wait()
	if !p.HasExited() {
		t.Error("HasExited returned false for a process that was killed")
	}
}

func TestHasExitedIsCertain(t *testing.T) {
	self := Current()
	if self.PID != os.Getpid() || self.Host == "" {
		t.Errorf("this process is %+v", self)
	}
	if self.StartID == "" {
		t.Skip("no StartID on this system")
	}
	elsewhere := strings.Replace(self.StartID, "pid:[", "pid:[1", 1)
	for name, tt := range map[string]struct {
		p    Process
		want bool
	}{
		"the current process":              {self, false},
		"a later process with the same ID": {Process{PID: self.PID, StartID: self.StartID + "0"}, true},
		"another machine":                  {Process{PID: 1 << 22, StartID: "x" + self.StartID}, false},
		"another container":                {Process{PID: 1 << 22, StartID: elsewhere}, false},
		"no StartID":                       {Process{PID: 1 << 22}, false},
		"invalid process ID":               {Process{PID: -1, StartID: self.StartID}, false},
		"unused process ID":                {Process{PID: 1 << 22, StartID: self.StartID}, true},
	} {
		if got := tt.p.HasExited(); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}
