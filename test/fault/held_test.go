// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

func TestDelay(t *testing.T) {
	for name, tt := range map[string]struct {
		patience time.Duration // the client's timeout
		took     time.Duration
		answered bool // no later rule sees the request
	}{
		"client that waits":    {time.Hour, time.Minute, false},
		"client that gives up": {time.Second, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.patience)
				defer cancel()
				begun := time.Now()
				_, answered, _ := call(ctx, Delay(time.Minute), nil, "GET", podsPath)
				if took := time.Since(begun); took != tt.took || answered != tt.answered {
					t.Errorf("after %s answered is %t, want %t after %s", took, answered, tt.answered, tt.took)
				}
			})
		})
	}
}

func TestDelayKeepsRequestBody(t *testing.T) {
	noLeaks(t)
	got := make(chan string, 1)
	p := newProxyTo(t, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		got <- fmt.Sprintf("%s %d %v", body, r.ContentLength, err)
	})
	p.Intercept(Delay(time.Millisecond))
	response, err := post(t.Context(), p, "pod")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if body := <-got; body != "pod 3 <nil>" {
		t.Errorf("the server was sent %q", body)
	}
}

func post(ctx context.Context, p *Proxy, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL()+podsPath, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
}

// TestDelayedRequestEndsWithClient checks that a delayed or hanging request ends when its
// client cancels it, even if the client has sent a body that was not read.
func TestDelayedRequestEndsWithClient(t *testing.T) {
	for name, rule := range map[string]Rule{"hang": Hang, "silent": Silent, "delay": Delay(time.Hour)} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			p, _ := newProxy(t)
			begun, ended := make(chan struct{}), make(chan struct{})
			p.Intercept(func(w http.ResponseWriter, r *http.Request, what Request) bool {
				close(begun)
				defer close(ended)
				return rule(w, r, what)
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			over := make(chan struct{})
			go func() {
				defer close(over)
				if response, err := post(ctx, p, "pod"); err == nil {
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
			}()
			<-begun
			cancel()
			<-ended
			<-over
			for _, r := range p.Requests() {
				if r.Code != 0 {
					t.Errorf("the server was asked, and answered %d", r.Code)
				}
			}
		})
	}
}

func TestHalfClose(t *testing.T) {
	authority := newAuthority(t)
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		for by, end := range map[string]func(*Proxy, net.Conn){
			"the client":    func(_ *Proxy, c net.Conn) { _ = c.Close() },
			"the proxy":     func(p *Proxy, _ net.Conn) { p.Down() },
			"a dropped one": func(p *Proxy, _ net.Conn) { p.DropConnections() },
		} {
			t.Run(name+", ended by "+by, func(t *testing.T) {
				noLeaks(t)
				p, client := dial(t, secure, authority)
				ended := make(chan struct{})
				p.Intercept(func(w http.ResponseWriter, r *http.Request, what Request) bool {
					defer close(ended)
					return HalfClose(w, r, what)
				})
				send(t, client, "GET "+podsPath+" HTTP/1.1\r\nHost: a\r\n\r\n")
				if got, err := io.ReadAll(client); len(got) > 0 || err != nil {
					t.Errorf("got %q, %v, want an end in good order", got, err)
				}
				// This is more than fits into the buffers of the connection, so the proxy must
				// read it.
				for range 64 {
					send(t, client, strings.Repeat("x", 1<<18))
				}
				end(p, client)
				<-ended
				if r := p.Requests(); len(r) != 1 || r[0].Code != 0 {
					t.Errorf("the server was asked: %+v", r)
				}
			})
		}
	}
}

// dial starts a proxy, with TLS if secure is true, and connects to it.
func dial(t *testing.T, secure bool, authority *Authority) (*Proxy, net.Conn) {
	t.Helper()
	a := newAPI(t)
	var p *Proxy
	if secure {
		p = NewTLS(t, &rest.Config{Host: a.URL}, authority)
	} else {
		p = New(t, &rest.Config{Host: a.URL})
	}
	client, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if secure {
		return p, tls.Client(client, &tls.Config{RootCAs: poolOf(authority), ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12})
	}
	return p, client
}

// watchOn sends a watch request over a connection, and reads the first event.
func watchOn(t *testing.T, client net.Conn) *bufio.Reader {
	t.Helper()
	send(t, client, "GET "+podsPath+"?watch=1 HTTP/1.1\r\nHost: a\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	body := bufio.NewReader(response.Body)
	if event, err := body.ReadString('\n'); err != nil || !strings.Contains(event, "ADDED") {
		t.Fatalf("the watch begins with %q, %v", event, err)
	}
	return body
}

func send(t *testing.T, client net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(client, text); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Fatal(err)
	}
}
