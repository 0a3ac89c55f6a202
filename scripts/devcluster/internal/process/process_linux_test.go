// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The main goroutine stays on the program's first thread, so that TestMain can start a Spawner
// on it.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) {
	if err := serveOnFirstThread(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	runtime.UnlockOSThread()
	goleak.VerifyTestMain(m)
}

// serveOnFirstThread checks that children end with a Spawner that was started on the first
// thread, which Go never ends.
func serveOnFirstThread() error {
	if !onFirstThread() {
		return errors.New("TestMain is not on the program's first thread: the check would check nothing")
	}
	s := &Spawner{requests: make(chan request), done: make(chan struct{})}
	dir, err := os.MkdirTemp("", "spawner")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	started := make(chan *Process, 1)
	var startErr error
	go func() {
		defer s.Close()
		p, err := s.Start(context.Background(), Spec{
			Name: "sleep", Path: "/bin/sh", Args: []string{"-c", "exec sleep 600"}, LogPath: filepath.Join(dir, "log"),
		})
		startErr = err
		started <- p
	}()
	s.serve()
	p := <-started
	if startErr != nil {
		return startErr
	}
	select {
	case <-p.Done():
		return nil
	case <-time.After(10 * time.Second):
		p.Stop(ended())
		return errors.New("a child outlived a spawner that began on the first thread")
	}
}

// startShell starts a shell script, which is stopped at the end of the test.
func startShell(t *testing.T, script string) *Process {
	t.Helper()
	spawner := NewSpawner()
	p, err := spawner.Start(t.Context(), Spec{
		Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, Dir: t.TempDir(),
		Env: []string{"GREETING=hello"}, LogPath: filepath.Join(t.TempDir(), "script.log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop(ended())
		spawner.Close()
	})
	return p
}

// ended returns a canceled context.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestExitErrorContainsLog(t *testing.T) {
	p := startShell(t, `for i in $(seq 100); do echo "line $i"; done; echo "$GREETING" >&2; exit 7`)
	<-p.Done()
	message := p.ExitError().Error()
	for _, want := range []string{"script ended: exit status 7", "line 100\nhello", "line 72\n"} {
		if !strings.Contains(message, want) {
			t.Errorf("no %q in: %s", want, message)
		}
	}
	if strings.Contains(message, "line 71\n") {
		t.Errorf("the message is too long: %s", message)
	}
}

func TestAwaitEndsWithProcess(t *testing.T) {
	p := startShell(t, "exit 3")
	err := p.Await(t.Context(), func(context.Context) error { return errors.New("not yet") })
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Process != "script" {
		t.Errorf("the error is %v", err)
	}
}

func TestAwaitEndsWithContext(t *testing.T) {
	p := startShell(t, "exec sleep 600")
	err := p.Await(ended(), func(context.Context) error { return errors.New("not yet") })
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "not yet") {
		t.Errorf("the error is %v", err)
	}
}

func TestAwaitReturnsWhenCheckSucceeds(t *testing.T) {
	p := startShell(t, "exec sleep 600")
	calls := 0
	err := p.Await(t.Context(), func(context.Context) error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestStop(t *testing.T) {
	for _, test := range []struct {
		name, script string
		ctx          context.Context
		want         string
	}{
		{"that ends when asked", `trap 'exit 0' TERM; echo on; while :; do sleep 0.01; done`, context.Background(), ""},
		{"that does not", `trap '' TERM; echo on; while :; do sleep 0.01; done`, ended(), "signal: killed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := startShell(t, test.script)
			if err := p.Await(t.Context(), func(context.Context) error {
				if Tail(p.logPath) == "" {
					return errors.New("the trap is not set yet")
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			p.Stop(test.ctx)
			if got := fmt.Sprint(p.Err()); got != test.want && (test.want != "" || p.Err() != nil) {
				t.Errorf("it ended with %q, want %q", got, test.want)
			}
			if !errors.Is(syscall.Kill(p.PID(), 0), syscall.ESRCH) {
				t.Error("it still runs")
			}
		})
	}
}

func TestMissingProgram(t *testing.T) {
	spawner := NewSpawner()
	defer spawner.Close()
	_, err := spawner.Start(t.Context(), Spec{Name: "absent", Path: "/absent", LogPath: filepath.Join(t.TempDir(), "log")})
	var exit *ExitError
	if !errors.As(err, &exit) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
}

func TestChildrenEndWithSpawner(t *testing.T) {
	spawner := NewSpawner()
	p, err := spawner.Start(t.Context(), Spec{
		Name: "sleep", Path: "/bin/sh", Args: []string{"-c", "exec sleep 600"}, LogPath: filepath.Join(t.TempDir(), "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	spawner.Close()
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		p.Stop(ended())
		t.Error("the child outlived the thread that started it")
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if got := Tail(path); got != "" {
		t.Errorf("tail of no file is %q", got)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("x", tailBytes)+"\nlast\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Tail(path); !strings.HasSuffix(got, "x\nlast") || len(got) > tailBytes {
		t.Errorf("tail of a long line has %d bytes and ends in %q", len(got), got[len(got)-10:])
	}
}
