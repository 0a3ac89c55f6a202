// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// started starts a process that waits for its input, and returns its Process.
func started(t *testing.T) (*exec.Cmd, Process) {
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

func TestIsGone(t *testing.T) {
	cmd, p := started(t)
	if p.StartID == "" {
		t.Skip("the kernel does not tell when a process started")
	}
	if p.HasExited() {
		t.Error("a process that runs is gone")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, p.PID, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if !p.HasExited() {
		t.Error("a process that was killed is not gone while nobody asked what became of it")
	}
	_ = cmd.Wait()
	if !p.HasExited() {
		t.Error("a process that was killed is not gone")
	}
}

func TestWhoIsNotGone(t *testing.T) {
	self := Current()
	if self.PID != os.Getpid() || self.Host == "" {
		t.Errorf("this process is %+v", self)
	}
	if self.StartID == "" {
		t.Skip("the kernel does not tell when a process started")
	}
	elsewhere := strings.Replace(self.StartID, "pid:[", "pid:[1", 1)
	for name, tt := range map[string]struct {
		p    Process
		want bool
	}{
		"itself":                               {self, false},
		"a later one with its number":          {Process{PID: self.PID, StartID: self.StartID + "0"}, true},
		"one of another machine":               {Process{PID: 1 << 22, StartID: "x" + self.StartID}, false},
		"one in another container":             {Process{PID: 1 << 22, StartID: elsewhere}, false},
		"one of which no more is known":        {Process{PID: 1 << 22}, false},
		"one with a number that no number is":  {Process{PID: -1, StartID: self.StartID}, false},
		"one whose number is not given so far": {Process{PID: 1 << 22, StartID: self.StartID}, true},
	} {
		if got := tt.p.HasExited(); got != tt.want {
			t.Errorf("%s: gone is %v, want %v", name, got, tt.want)
		}
	}
}
