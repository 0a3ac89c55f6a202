// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package ociregistry starts OCI registries for tests: the CNCF Distribution registry, in the
// process of the test, on a free port of 127.0.0.1, with its contents in memory.
package ociregistry

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	"github.com/sirupsen/logrus"
	"golang.org/x/crypto/bcrypt"

	"github.com/ordered-helm/helm/test/certificates"

	// The configuration of the registry refers to these packages by name.
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
)

// Options configure a registry. The zero value is a registry with plain HTTP and without
// authentication.
type Options struct {
	// Users contains the passwords of users, by name. If it is empty, the registry requires no
	// authentication.
	Users map[string]string
	// TLS is true if the registry uses HTTPS, with a certificate for 127.0.0.1 and localhost
	// that the authority in Registry.CAFile has signed.
	TLS bool
	// ClientCertificates is true if clients must present a certificate, such as
	// Registry.ClientCertFile. It implies TLS.
	ClientCertificates bool
}

// Registry is a running registry.
type Registry struct {
	server *httptest.Server
	files  certificates.Files
}

// Start starts a registry, which is stopped at the end of the test.
func Start(tb testing.TB, o Options) *Registry {
	tb.Helper()
	r, err := start(tb, o)
	if err != nil {
		tb.Fatalf("start an OCI registry: %v", err)
	}
	return r
}

func start(tb testing.TB, o Options) (*Registry, error) {
	dir := tb.TempDir()
	config, err := configurationFor(dir, o)
	if err != nil {
		return nil, err
	}
	silenceLog()

	// The registry has its own context, because the test's context ends before its cleanup
	// runs.
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	app := handlers.NewApp(ctx, config)
	r := &Registry{server: httptest.NewUnstartedServer(app)}
	// Some tests cause failed handshakes, so these are not logged.
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if o.TLS || o.ClientCertificates {
		if r.server.TLS, r.files, err = certificates.Make(dir, o.ClientCertificates); err != nil {
			cancel()
			return nil, err
		}
		r.server.StartTLS()
	} else {
		r.server.Start()
	}
	tb.Cleanup(func() {
		r.server.CloseClientConnections()
		r.server.Close()
		cancel()
		if err := app.Shutdown(); err != nil {
			tb.Errorf("stop the OCI registry: %v", err)
		}
	})
	return r, nil
}

func configurationFor(dir string, o Options) (*configuration.Configuration, error) {
	config := &configuration.Configuration{
		Storage: configuration.Storage{
			"inmemory": {},
			"delete":   {"enabled": true},
			// Without this setting, a goroutine would search for old uploads forever.
			"maintenance": {"uploadpurging": map[any]any{"enabled": false}},
		},
	}
	config.HTTP.Secret = "of no importance: there is one server"
	if len(o.Users) == 0 {
		return config, nil
	}
	path := filepath.Join(dir, "htpasswd")
	if err := writePasswords(path, o.Users); err != nil {
		return nil, err
	}
	config.Auth = configuration.Auth{"htpasswd": {"realm": "test", "path": path}}
	return config, nil
}

func writePasswords(path string, users map[string]string) error {
	var lines strings.Builder
	for name, password := range users {
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		if err != nil {
			return fmt.Errorf("password of %s: %w", name, err)
		}
		fmt.Fprintf(&lines, "%s:%s\n", name, hash)
	}
	return os.WriteFile(path, []byte(lines.String()), 0o600)
}

// silenceLog discards the log of registries, for which they use the process-wide logger.
var silenceLog = sync.OnceFunc(func() { logrus.SetOutput(io.Discard) })

// Host returns the host and port of the registry, as in references: "127.0.0.1:5000".
func (r *Registry) Host() string { return r.server.Listener.Addr().String() }

// CAFile returns the path of the certificate of the authority that signed the registry's
// certificate. It is empty without TLS.
func (r *Registry) CAFile() string { return r.files.CA }

// ClientCertFile returns the path of a client certificate. It is empty without TLS.
func (r *Registry) ClientCertFile() string { return r.files.Cert }

// ClientKeyFile returns the path of the key of the client certificate. It is empty without
// TLS.
func (r *Registry) ClientKeyFile() string { return r.files.Key }
