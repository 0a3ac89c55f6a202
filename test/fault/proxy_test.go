// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const podsPath = "/api/v1/namespaces/shop/pods"

// api is a fake API server. It answers every watch with one event and keeps it open, and
// answers every other request with an empty list.
type api struct {
	*httptest.Server
	mu   sync.Mutex
	last http.Header
}

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.last = r.Header.Clone()
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") == "" {
		_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}`)
		return
	}
	_, _ = io.WriteString(w, `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}}`+"\n")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func (a *api) header(name string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last.Get(name)
}

// newProxy starts a fake API server, and a proxy that sends requests to it with a token.
func newProxy(t *testing.T) (*Proxy, *api) {
	t.Helper()
	a := newAPI(t)
	return New(t, &rest.Config{Host: a.URL, BearerToken: "secret"}), a
}

// request sends a request over a new connection, which no earlier request has used.
func request(t *testing.T, p *Proxy, pathAndQuery string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+pathAndQuery, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Impersonate-User", "somebody")
	r.Header.Set("User-Agent", "tester")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err == nil {
		t.Cleanup(func() { _ = response.Body.Close() })
	}
	return response, err
}

// openWatch starts a watch through the proxy, and reads its first event.
func openWatch(t *testing.T, p *Proxy) *bufio.Reader {
	t.Helper()
	response, err := request(t, p, podsPath+"?watch=true&resourceVersion=7")
	if err != nil {
		t.Fatal(err)
	}
	body := bufio.NewReader(response.Body)
	if event, err := body.ReadString('\n'); err != nil || !strings.Contains(event, "ADDED") {
		t.Fatalf("the watch begins with %q, %v", event, err)
	}
	return body
}

func podsOf(t *testing.T, p *Proxy) dynamic.ResourceInterface {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := p.WriteKubeconfig(path, "shop"); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace("shop")
}

func TestRequestsAreForwarded(t *testing.T) {
	p, a := newProxy(t)
	var looked []string
	p.OnRequest(func(r *http.Request) { looked = append(looked, r.Method+" "+r.URL.Path) })
	response, err := request(t, p, podsPath)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(body), "PodList") {
		t.Errorf("got %q, %v", body, err)
	}
	for name, want := range map[string]string{"Authorization": "Bearer secret", "Impersonate-User": "somebody", "User-Agent": "tester"} {
		if got := a.header(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if fmt.Sprint(looked) != "[GET "+podsPath+"]" {
		t.Errorf("was shown %v", looked)
	}
	if got := fmt.Sprint(p.Counts()); got != "map[list "+podsPath+":1]" {
		t.Errorf("counted %s", got)
	}
	if all := p.Requests(); len(all) != 1 || all[0].Code != http.StatusOK || all[0].Resource != "pods" {
		t.Errorf("noted %+v", all)
	}
}

func TestClientsUseTheKubeconfig(t *testing.T) {
	p, _ := newProxy(t)
	if list, err := podsOf(t, p).List(t.Context(), metav1.ListOptions{}); err != nil || list.GetResourceVersion() != "7" {
		t.Errorf("got %v, %v", list, err)
	}
}

func TestCutWatches(t *testing.T) {
	p, _ := newProxy(t)
	first, second := openWatch(t, p), openWatch(t, p)
	if n := p.CutWatches(); n != 2 {
		t.Errorf("cut %d watches, want 2", n)
	}
	for _, body := range []*bufio.Reader{first, second} {
		if rest, err := io.ReadAll(body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a cut watch goes on with %q, %v", rest, err)
		}
	}
	openWatch(t, p)
	if n := p.CutWatches(); n != 1 {
		t.Errorf("cut %d watches of a later time, want 1", n)
	}
	if _, err := request(t, p, podsPath); err != nil {
		t.Errorf("a list fails, too: %v", err)
	}
}

func TestDownAndUp(t *testing.T) {
	p, _ := newProxy(t)
	open, url := openWatch(t, p), p.URL()
	p.Down()
	p.Down()
	if rest, err := io.ReadAll(open); err == nil {
		t.Errorf("an open watch ended well, with %q", rest)
	}
	if _, err := request(t, p, podsPath); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a new request fails with %v", err)
	}
	for range 2 {
		if err := p.Up(); err != nil {
			t.Fatal(err)
		}
	}
	if p.URL() != url {
		t.Errorf("it moved from %s to %s", url, p.URL())
	}
	openWatch(t, p)
}

func TestGoneRules(t *testing.T) {
	for name, gone := range map[string]Rule{"answer": GoneAnswer(), "event": GoneEvent()} {
		t.Run(name, func(t *testing.T) {
			p, _ := newProxy(t)
			p.Intercept(First(2, Resumed, gone))
			pods := podsOf(t, p)
			watchFrom := func(version string) error {
				w, err := pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
				if err != nil {
					return err
				}
				defer w.Stop()
				if e := <-w.ResultChan(); e.Type == watch.Error {
					return apierrors.FromObject(e.Object)
				}
				return nil
			}
			for i, version := range []string{"1", "", "1", "1"} {
				err := watchFrom(version)
				if want := i == 0 || i == 2; apierrors.IsResourceExpired(err) != want || !want && err != nil {
					t.Errorf("watch %d from %q fails with %v", i, version, err)
				}
			}
		})
	}
}

func TestRulesApplyInOrder(t *testing.T) {
	p, _ := newProxy(t)
	var asked []string
	note := func(name string, answered bool) Rule {
		return func(w http.ResponseWriter, _ *http.Request, what Request) bool {
			asked = append(asked, name+" "+what.Verb)
			if answered {
				w.WriteHeader(http.StatusTeapot)
			}
			return answered
		}
	}
	p.Intercept(note("looks", false))
	remove := p.Intercept(note("answers", true))
	p.Intercept(note("too late", false))
	for _, want := range []int{http.StatusTeapot, http.StatusOK} {
		response, err := request(t, p, podsPath)
		if err != nil || response.StatusCode != want {
			t.Errorf("got %v, %v, want %d", response, err, want)
		}
		remove()
	}
	if got := fmt.Sprint(asked); got != "[looks list answers list looks list too late list]" {
		t.Errorf("asked %s", got)
	}
	if first := p.Requests()[0]; first.Code != 0 {
		t.Errorf("what the server was not asked has the code %d", first.Code)
	}
}

func TestDropAndAnswer(t *testing.T) {
	p, _ := newProxy(t)
	remove := p.Intercept(Drop)
	if _, err := request(t, p, podsPath); !errors.Is(err, io.EOF) {
		t.Errorf("a dropped request fails with %v", err)
	}
	remove()
	p.Intercept(Answer(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable))
	if _, err := podsOf(t, p).Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("got %v", err)
	}
}

func TestFirstWithConcurrentRequests(t *testing.T) {
	const asking, n = 50, 7
	rule := First(n, func(Request) bool { return true }, func(http.ResponseWriter, *http.Request, Request) bool { return true })
	answered := make(chan bool, asking)
	var wg sync.WaitGroup
	for range asking {
		wg.Go(func() { answered <- rule(nil, nil, Request{}) })
	}
	wg.Wait()
	close(answered)
	got := 0
	for yes := range answered {
		if yes {
			got++
		}
	}
	if got != n {
		t.Errorf("answered %d, want %d", got, n)
	}
}

func TestUnreachableServer(t *testing.T) {
	p, a := newProxy(t)
	a.Close()
	if _, err := request(t, p, podsPath); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

// TestCloseLeavesNoGoroutines checks that no goroutines are left after Close, with open
// watches and with concurrent calls of all methods.
func TestCloseLeavesNoGoroutines(t *testing.T) {
	noLeaks(t)
	a := newAPI(t)
	p, err := Start(t.Context(), &rest.Config{Host: a.URL})
	if err != nil {
		t.Fatal(err)
	}
	var busy sync.WaitGroup
	stop := make(chan struct{})
	for _, work := range []func(){
		func() { fetch(t.Context(), p, podsPath) },
		func() { fetch(t.Context(), p, podsPath+"?watch=1") },
		func() { p.CutWatches(); p.Counts(); p.StallWatches(); p.DropConnections() },
		func() { p.Intercept(First(1, Resumed, GoneEvent()))() },
		func() { p.Intercept(Random(1, 50, DropAfter, HalfAnswer, HalfClose, StaleReads(1, 0, Any)))() },
		func() {
			defer p.Silence(time.Minute)()
			p.Down()
			if err := p.Up(); err != nil {
				t.Error(err)
			}
		},
	} {
		busy.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					work()
				}
			}
		})
	}
	for p.Counts()["watch "+podsPath] < 20 || p.Counts()["list "+podsPath] < 20 {
		runtime.Gosched()
	}
	close(stop)
	over := make(chan struct{})
	go func() { busy.Wait(); close(over) }()
	for ended := false; !ended; {
		select {
		case <-over:
			ended = true
		default:
			p.CutWatches() // nothing else ends the last watch
		}
	}
	last := openWatch(t, p)
	p.Close()
	if _, err := io.ReadAll(last); err == nil {
		t.Error("a watch outlives the proxy")
	}
	if err := p.Up(); err == nil {
		t.Error("a closed proxy can be opened again")
	}
}

// fetch sends a request and reads its response, ignoring errors.
func fetch(ctx context.Context, p *Proxy, pathAndQuery string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL()+pathAndQuery, nil)
	if err != nil {
		panic(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if response, err := client.Do(r); err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
}

func TestStartWithUnreadableCredentials(t *testing.T) {
	_, err := Start(t.Context(), &rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{CAFile: "/nowhere"}})
	if err == nil || !strings.Contains(err.Error(), "credentials") {
		t.Errorf("got %v", err)
	}
}
