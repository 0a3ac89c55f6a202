// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package fault provides a proxy in front of an API server that injects faults: tests use it
// to check how clients behave if the server is unavailable, drops connections, rejects
// requests, or sends stale data. A Rule defines a fault.
package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	// idlePerHost is the maximum number of idle connections to the server that are kept open.
	idlePerHost = 64
	// headerTimeout is the time within which a client must send the header of a request. It is
	// longer than any silence.
	headerTimeout = 10 * time.Minute
)

// Proxy forwards requests to an API server, with the credentials of the configuration that
// Start was given. Headers that impersonate another user are kept. It serves HTTP/1.1, plain
// or over TLS (see StartTLS), so that each connection carries one request at a time, and
// dropping a connection affects no other request. It is safe for concurrent use.
type Proxy struct {
	ctx       context.Context // of Start; its end stops the proxy
	address   string
	target    *url.URL
	transport *http.Transport
	handler   http.Handler
	silence   silence
	identity  *identity // nil for plain HTTP

	mu      sync.Mutex
	server  *server // nil while it is down
	closed  bool
	rules   []*Rule
	seen    []*Request
	watches map[*Request]*watching
}

// New starts a proxy, as Start does, that is closed at the end of the test.
func New(tb testing.TB, config *rest.Config) *Proxy {
	tb.Helper()
	p, err := Start(context.WithoutCancel(tb.Context()), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	return p
}

// Start starts a proxy on a free port of 127.0.0.1. It runs until Close is called. When the
// context ends, all requests end.
func Start(ctx context.Context, config *rest.Config) (*Proxy, error) {
	return start(ctx, config, nil)
}

func start(ctx context.Context, config *rest.Config, identity *identity) (*Proxy, error) {
	target, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the credentials: %w", err)
	}
	p := &Proxy{
		ctx: ctx, target: target, identity: identity, watches: map[*Request]*watching{},
		transport: &http.Transport{TLSClientConfig: tlsConfig, MaxIdleConnsPerHost: idlePerHost},
	}
	authenticated, err := rest.HTTPWrappersForConfig(config, p.transport)
	if err != nil {
		return nil, fmt.Errorf("read the credentials: %w", err)
	}
	p.handler = &httputil.ReverseProxy{
		Transport: authenticated, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(p.target) },
		ModifyResponse: p.noteAnswer,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	p.address = listener.Addr().String()
	p.server = p.serve(ctx, listener)
	return p, nil
}

// Close closes all connections, and returns when all goroutines of the proxy have ended. A
// rule must not call it.
func (p *Proxy) Close() {
	p.Down()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.transport.CloseIdleConnections()
}

// URL returns the address of the proxy.
func (p *Proxy) URL() string {
	if p.identity != nil {
		return "https://" + p.address
	}
	return "http://" + p.address
}

// WriteKubeconfig writes a kubeconfig with which clients use the proxy. They need no
// credentials. With TLS, they trust only the authority of the current certificate.
func (p *Proxy) WriteKubeconfig(path, namespace string) error {
	const name = "proxy"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: p.URL(), CertificateAuthorityData: p.identity.trusted()}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, Namespace: namespace}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, path)
}

// Intercept adds a rule, which applies to requests that no earlier rule has answered. The
// returned function removes the rule.
func (p *Proxy) Intercept(rule Rule) (remove func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	added := &rule
	p.rules = append(p.rules, added)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.rules = slices.DeleteFunc(slices.Clone(p.rules), func(r *Rule) bool { return r == added })
	}
}

// OnRequest calls look for every request before it is forwarded.
func (p *Proxy) OnRequest(look func(*http.Request)) {
	p.Intercept(func(_ http.ResponseWriter, r *http.Request, _ Request) bool {
		look(r)
		return false
	})
}

// DropConnections closes all connections, including idle ones, and returns their number. The
// proxy still accepts new connections.
func (p *Proxy) DropConnections() int {
	p.mu.Lock()
	s := p.server
	p.mu.Unlock()
	if s == nil {
		return 0
	}
	return s.drop()
}

// Down closes all connections, and refuses new ones until Up is called. When it returns, no
// request is in progress. A rule must not call it.
func (p *Proxy) Down() {
	p.mu.Lock()
	s := p.server
	p.server = nil
	p.mu.Unlock()
	if s != nil {
		s.stop()
	}
}

// Up makes the proxy accept connections again, on the same address, after Down. If the proxy
// accepts connections, Up does nothing.
func (p *Proxy) Up() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("the proxy is closed")
	}
	if p.server != nil {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(p.ctx, "tcp", p.address)
	if err != nil {
		return fmt.Errorf("listen again: %w", err)
	}
	p.server = p.serve(p.ctx, listener)
	return nil
}

// Requests returns all requests until now, in the order in which they were received.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Request, 0, len(p.seen))
	for _, r := range p.seen {
		all = append(all, *r)
	}
	return all
}

// Counts returns the number of requests until now, by verb and path, such as "list
// /api/v1/namespaces/shop/pods".
func (p *Proxy) Counts() map[string]int {
	counts := map[string]int{}
	for _, r := range p.Requests() {
		counts[r.Verb+" "+r.Path]++
	}
	return counts
}

// recordKey is the key under which the context of a request contains its Request.
type recordKey struct{}

// ServeHTTP applies the rules to a request, and forwards it to the server if no rule answers
// it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what := describe(r)
	record := &what
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), recordKey{}, record))
	defer cancel()
	rules, watch := p.begin(record, cancel)
	defer p.end(record)
	way := &passage{what: what, rules: rules, server: p.handler}
	cut := r.WithContext(context.WithValue(ctx, passageKey{}, way))
	if watch == nil {
		way.pass(w, cut)
		return
	}
	untilStalled(w, cut, watch.stalled, way.pass)
	if ctx.Err() != nil {
		panic(http.ErrAbortHandler) // even if a rule answered, the end must not look intended
	}
}

func (p *Proxy) begin(record *Request, cancel context.CancelFunc) ([]*Rule, *watching) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, record)
	var watch *watching
	if record.Verb == "watch" {
		watch = &watching{cancel: cancel, stalled: make(chan struct{})}
		p.watches[record] = watch
	}
	return slices.Clone(p.rules), watch
}

func (p *Proxy) end(record *Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.watches, record)
}

func (p *Proxy) noteAnswer(response *http.Response) error {
	if record, ok := response.Request.Context().Value(recordKey{}).(*Request); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		record.Code = response.StatusCode
	}
	return nil
}
