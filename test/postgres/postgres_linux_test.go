// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// childEnv is an environment variable. If it is set, this test binary starts a server and
// waits to be killed, instead of running tests.
const childEnv = "POSTGRES_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		runChild()
	}
	os.Exit(m.Run())
}

// runChild starts a server, prints its URL, and runs until it is killed.
func runChild() {
	s, err := start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.url)
	select {}
}

func TestStart(t *testing.T) {
	var seen []trace
	t.Run("two at once", func(t *testing.T) {
		for range 2 {
			address := Start(t)
			seen = append(seen, traceOf(t, address))
			useIt(t, address)
			expectRefused(t, strings.Replace(address, ":"+password(t, address)+"@", ":wrong@", 1))
		}
		if seen[0].dir == seen[1].dir {
			t.Errorf("both are in %s", seen[0].dir)
		}
	})
	for _, s := range seen {
		if err := s.left(); err != nil {
			t.Errorf("after the test: %v", err)
		}
	}
}

// TestKilledTestLeavesNoProcesses checks that nothing of a server is left after the test
// process was killed.
func TestKilledTestLeavesNoProcesses(t *testing.T) {
	skipWithout(t)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childEnv+"=1")
	child.Stderr = os.Stderr
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	seen := traceOf(t, strings.TrimSpace(line))
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Error("the child ended well although it was killed")
	}
	deadline := time.Now().Add(time.Minute)
	for err := seen.left(); err != nil; err = seen.left() {
		if time.Now().After(deadline) {
			t.Fatalf("after the test was killed: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestServerExitsEarly checks that the error contains the output of a server that exits before
// it is ready.
func TestServerExitsEarly(t *testing.T) {
	skipWithout(t)
	s, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := traceOf(t, s.url)
	if err := syscall.Kill(seen.server, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if err := s.stop(); err == nil || !strings.Contains(err.Error(), "received smart shutdown request") {
		t.Errorf("got %v", err)
	}
	if err := seen.left(); err != nil {
		t.Error(err)
	}
}

func TestPortInUse(t *testing.T) {
	skipWithout(t)
	bin, err := find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", localhost+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	if _, err := startServer(t.Context(), bin, port); !errors.Is(err, errPortTaken) {
		t.Errorf("got %v", err)
	}
}

// TestCanceledStart checks that nothing is left of a server whose start was canceled.
func TestCanceledStart(t *testing.T) {
	skipWithout(t)
	temp := t.TempDir()
	// The server's user creates its directory there.
	for _, dir := range []string{temp, filepath.Dir(temp)} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", temp)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := start(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	left, err := os.ReadDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("%s is left", left[0].Name())
	}
}

// skipWithout skips the test if PostgreSQL is not installed.
func skipWithout(t *testing.T) {
	t.Helper()
	if _, err := find(t.Context()); errors.Is(err, errMissing) {
		t.Skip(err)
	}
}

// useIt stores a release in the database at a URL and reads it, with Helm's storage driver.
func useIt(t *testing.T, address string) {
	t.Helper()
	sql, err := driver.NewSQL(address, t.Logf, "default")
	if err != nil {
		t.Fatal(err)
	}
	stored := &release.Release{Name: "rel", Namespace: "default", Version: 1, Info: &release.Info{Status: release.StatusDeployed}}
	if err := sql.Create("rel.v1", stored); err != nil {
		t.Fatal(err)
	}
	got, err := sql.Get("rel.v1")
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != stored.Name {
		t.Errorf("got release %q", got.Name)
	}
}

func expectRefused(t *testing.T, address string) {
	t.Helper()
	if _, err := driver.NewSQL(address, t.Logf, "default"); err == nil || !strings.Contains(err.Error(), "password authentication failed") {
		t.Errorf("a wrong password: got %v", err)
	}
}

func password(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	return password
}

// trace identifies what could be left of a server: its processes and its directory.
type trace struct {
	server, supervisor int
	dir, address       string
}

// traceOf returns the trace of the server at a URL. It checks the owner of the server's
// process, and the address on which the server listens.
func traceOf(t *testing.T, address string) trace {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if u.Hostname() != "127.0.0.1" {
		t.Errorf("listens on %s", u.Host)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		raw, _ := os.ReadFile("/proc/" + entry.Name() + "/cmdline") // the process may just have ended
		args := strings.Split(string(raw), "\x00")
		data, port := slices.Index(args, "-D"), slices.Index(args, "-p")
		if filepath.Base(args[0]) != "postgres" || data < 0 || port < 0 || args[port+1] != u.Port() {
			continue
		}
		return trace{server: pid, supervisor: parentOf(t, pid), dir: filepath.Dir(args[data+1]), address: u.Host}
	}
	t.Fatalf("no process of a server on port %s", u.Port())
	return trace{}
}

// parentOf returns the ID of the parent of a process, and checks that the process does not run
// as root.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	parent := 0
	for line := range bytes.Lines(status) {
		fields := strings.Fields(string(line))
		switch fields[0] {
		case "PPid:":
			if parent, err = strconv.Atoi(fields[1]); err != nil {
				t.Fatal(err)
			}
		case "Uid:":
			if slices.Contains(fields[1:], "0") {
				t.Errorf("the server runs as root: %s", line)
			}
		case "Groups:":
			if slices.Contains(fields[1:], "0") {
				t.Errorf("the server is in root's group: %s", line)
			}
		}
	}
	return parent
}

// left returns an error if anything is left of the server.
func (s trace) left() error {
	for _, pid := range []int{s.server, s.supervisor} {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("process %d still runs", pid)
		}
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("folder %s is still there", s.dir)
	}
	if shared, err := os.ReadFile("/proc/sysvipc/shm"); err == nil && strings.Contains(string(shared), fmt.Sprintf(" %d ", s.server)) {
		return fmt.Errorf("shared memory of process %d is still there", s.server)
	}
	return nil
}
