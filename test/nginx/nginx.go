// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package nginx starts nginx servers for tests, to which files can be uploaded with PUT. nginx
// must be installed from the distribution's package. A server ends with the test process, even
// if that is killed.
package nginx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/certificates"
)

const (
	// startTimeout is the timeout for starting a server, even on a busy machine.
	startTimeout = time.Minute
	// attempts is the maximum number of ports that are tried.
	attempts = 5
)

// Username and Password are the credentials for the path /private.
const (
	Username = "anna"
	Password = "nginx-password"
)

// Server is a running server. Below these paths, files can be uploaded with PUT and deleted
// with DELETE: /charts, /private (with basic authentication), and /small, where a file has at
// most 100 bytes. Below /read-only, they can only be read.
type Server struct {
	// URL is the address of the server: http:// or https://, 127.0.0.1 and the port.
	URL string
	// Folder is the directory of the files.
	Folder string
	// Certificates are the files for clients. Without TLS, they are empty.
	Certificates certificates.Files
}

// Start starts a server that listens only on a port of 127.0.0.1 and is stopped at the end of
// the test. With tls, it serves HTTPS and requires a client certificate. The test is skipped
// if nginx is not installed.
func Start(tb testing.TB, tls bool) *Server {
	tb.Helper()
	program := find(tb)
	var err error
	for range attempts {
		s := &server{dir: tb.TempDir()}
		if err = s.start(tb.Context(), program, tls); err == nil {
			tb.Cleanup(func() {
				if err := s.stop(); err != nil {
					tb.Error(err)
				}
			})
			return &s.Server
		}
		if !strings.Contains(err.Error(), "Address already in use") {
			break
		}
	}
	tb.Fatalf("start nginx: %v", err)
	return nil
}

// find returns the path of nginx, or skips the test.
func find(tb testing.TB) string {
	tb.Helper()
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} { // not all users have /usr/sbin in PATH
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(tb.Context(), path, "-V").CombinedOutput()
		if err == nil && strings.Contains(string(out), "http_dav_module") {
			return path
		}
	}
	tb.Skip(`no nginx with its DAV module is installed: install the package "nginx" of the distribution`)
	return ""
}

type server struct {
	Server
	dir   string
	cmd   *exec.Cmd
	stdin io.Closer
	log   bytes.Buffer
	ended chan error
}

// supervise is a shell script that runs the server until stdin is closed. Stdin is a pipe, which
// is closed when the test process ends, even if that is killed. A shell gives background
// commands no stdin, so they need a copy of it.
const supervise = `"$1" -p "$2" -c "$2/nginx.conf" -e stderr &
server=$!
exec 3<&0
(read -r _ || :; kill -TERM "$server") <&3 2>/dev/null &
wait "$server"`

func (s *server) start(ctx context.Context, program string, tls bool) error {
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	if err := s.configure(address, tls); err != nil {
		return err
	}
	// The process must not be killed when the context of the test ends, but stopped.
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", "-c", supervise, "sh", program, s.dir)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan error, 1)
	go func() { s.ended <- s.cmd.Wait() }()
	return s.await(ctx, address)
}

// await waits until the server accepts connections.
func (s *server) await(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return connection.Close()
		}
		select {
		case err := <-s.ended:
			return fmt.Errorf("it ended: %w\n%s", err, &s.log)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), s.stop())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// stop stops the server, and returns an error if it had ended before.
func (s *server) stop() error {
	select {
	case err := <-s.ended:
		return fmt.Errorf("nginx did not live until it was stopped: %w\n%s", err, &s.log)
	default:
	}
	return errors.Join(s.stdin.Close(), <-s.ended)
}

// configure writes the files of the server.
func (s *server) configure(address string, tls bool) error {
	s.URL, s.Folder = "http://"+address, filepath.Join(s.dir, "files")
	encryption := ""
	if tls {
		config, files, err := certificates.Make(s.dir, true)
		if err != nil {
			return err
		}
		s.URL, s.Certificates = "https://"+address, files
		if err := writeServerCertificate(s.dir, config); err != nil {
			return err
		}
		encryption = "ssl_certificate server.pem; ssl_certificate_key server-key.pem; ssl_client_certificate ca.pem; ssl_verify_client on;"
		address += " ssl"
	}
	for _, folder := range []string{"charts", "private", "small", "read-only"} {
		if err := os.MkdirAll(filepath.Join(s.Folder, folder), 0o755); err != nil {
			return err
		}
	}
	files := map[string]string{
		"nginx.conf": fmt.Sprintf(configuration, address, encryption),
		"users":      Username + ":{PLAIN}" + Password + "\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// configuration is the configuration file. Paths are relative to the directory of the server.
const configuration = `
daemon off;
master_process off; # otherwise, it would run as another user, who has no access to the files
pid nginx.pid;
events {}
http {
	access_log off;
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	server {
		listen %s;
		%s
		root files;
		location /charts/ { dav_methods PUT DELETE; }
		location /small/ { dav_methods PUT DELETE; client_max_body_size 100; }
		location /private/ { dav_methods PUT DELETE; auth_basic charts; auth_basic_user_file users; }
		location /read-only/ { }
	}
}
`

// freeAddress returns an address on this machine with a port that was free a moment ago.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}
