// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

const (
	superuser = "test"
	localhost = "127.0.0.1"
)

// errPortTaken means that another program started to use the port after it was chosen.
var errPortTaken = errors.New("the port was taken by another program")

// supervise is a shell script that runs the server, and deletes its data when the test process
// ends. A parent-death signal would not be sufficient: it would leave the data, and it is
// already sent when the thread that started the server ends.
//
//go:embed supervise.sh
var supervise string

// server is a running server with its supervisor.
type server struct {
	url string

	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}
	// err and log must only be read after ended is closed.
	err error
	log bytes.Buffer

	stopping sync.Once
}

// startServer starts a server on a port, and returns when it accepts connections.
func startServer(ctx context.Context, bin, port string) (*server, error) {
	attributes, err := attributes()
	if err != nil {
		return nil, err
	}
	password := rand.Text()
	address := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, password),
		Host: net.JoinHostPort(localhost, port), Path: "/postgres", RawQuery: "sslmode=disable",
	}
	s := &server{
		url: address.String(),
		// The process must not be killed when the context of the start ends.
		cmd:   exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", "-c", supervise, "supervise.sh", bin, port, superuser),
		ended: make(chan struct{}),
	}
	s.cmd.SysProcAttr = attributes
	// The user of the server may have no access to the working directory. Environment
	// variables for PostgreSQL clients must not affect the server.
	s.cmd.Dir = "/"
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "LC_ALL=C", "PASSWORD=" + password}
	if err := s.run(ctx); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return s, nil
}

// run starts the supervisor, and returns when the server accepts connections.
func (s *server) run(ctx context.Context) error {
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return err
	}
	s.stdin = stdin
	if err := s.cmd.Start(); err != nil {
		return err
	}
	ready := make(chan struct{})
	go s.read(stderr, ready)
	select {
	case <-ready:
		return nil
	case <-s.ended:
		if strings.Contains(s.log.String(), "Address already in use") {
			return errPortTaken
		}
		return fmt.Errorf("%w\n%s", s.err, &s.log)
	case <-ctx.Done():
		return errors.Join(ctx.Err(), s.stop())
	}
}

// read reads the output of the server until it ends, and closes ready when the server is
// ready.
func (s *server) read(stderr io.Reader, ready chan<- struct{}) {
	defer close(s.ended)
	lines := bufio.NewReader(stderr) // a line can be as long as a statement
	for {
		line, err := lines.ReadString('\n')
		s.log.WriteString(line)
		if ready != nil && strings.Contains(line, "ready to accept connections") {
			close(ready)
			ready = nil
		}
		if err != nil {
			break
		}
	}
	s.err = s.cmd.Wait()
	if s.err == nil {
		s.err = errors.New("it ended")
	}
}

// stop stops the server, and returns when nothing is left of it. It returns an error if the
// server had exited before, or if it fails.
func (s *server) stop() error {
	var early bool
	select {
	case <-s.ended:
		early = true
	default:
	}
	s.stopping.Do(func() { _ = s.stdin.Close() })
	<-s.ended
	if early || s.cmd.ProcessState == nil || !s.cmd.ProcessState.Success() {
		return fmt.Errorf("PostgreSQL did not live until it was stopped: %w\n%s", s.err, &s.log)
	}
	return nil
}

// freePort returns a port that was free a moment ago.
func freePort(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", localhost+":0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return strconv.Itoa(port), listener.Close()
}
