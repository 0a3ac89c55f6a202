// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package httpretry

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// step is how a fakeServer reacts to one request: a response, or an error of the connection.
type step struct {
	code   int
	header http.Header
	body   string
	err    error
	// breaks is true if the connection breaks while the body is sent. takes is the time until
	// the response. If it is negative, the server never responds.
	breaks bool
	takes  time.Duration
}

// fakeServer reacts to each request with the next step. It repeats the last step.
type fakeServer struct {
	steps []step
	sent  []string
	times []time.Time
}

func (p *fakeServer) RoundTrip(r *http.Request) (*http.Response, error) {
	text := r.Method + " " + r.URL.Path
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		text += " " + string(body)
	}
	s := p.steps[min(len(p.sent), len(p.steps)-1)]
	p.sent, p.times = append(p.sent, text), append(p.times, time.Now())
	var over <-chan time.Time
	if s.takes >= 0 {
		over = time.After(s.takes)
	}
	select {
	case <-over:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if s.err != nil {
		return nil, s.err
	}
	var body io.Reader = strings.NewReader(s.body)
	if s.breaks {
		body = io.MultiReader(body, &broken{})
	}
	header := http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}
	for key, values := range s.header {
		header[key] = values
	}
	return &http.Response{StatusCode: s.code, Status: fmt.Sprint(s.code), Header: header, Body: io.NopCloser(body)}, nil
}

type broken struct{}

func (*broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

var (
	success  = step{code: 200, body: "well"}
	lost     = step{err: io.EOF}
	reset    = step{err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}}
	refused  = step{err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	half     = step{code: 200, body: "we", breaks: true}
	conflict = step{code: 409, body: "already exists"}
)

// anyNumber is used where the number of attempts depends on the random pauses between them.
const anyNumber = -1

func status(code int) step { return step{code: code, body: "trouble"} }

// TestRetries checks how often a request is sent to a server that is temporarily unavailable,
// and what the result is.
func TestRetries(t *testing.T) {
	const named, unnamed = `{"metadata":{"name":"a"}}`, `{"metadata":{"generateName":"a-"}}`
	tests := []struct {
		name, method, body, contentType string
		unknown                         bool // the server has never responded
		streamed                        bool
		steps                           []step
		sent                            int
		want                            string // the status code and the body, or the error
	}{
		{name: "success", steps: []step{success}, sent: 1, want: "200 well"},
		{name: "rejected", steps: []step{{code: 403, body: "no"}}, sent: 1, want: "403 no"},
		{name: "connection closed, then reset", steps: []step{lost, reset, success}, sent: 3, want: "200 well"},
		{name: "incomplete response", steps: []step{half, success}, sent: 2, want: "200 well"},
		{name: "incomplete stream is not retried", streamed: true, steps: []step{half, success}, sent: 1, want: "unexpected EOF"},
		{name: "stream without a response", streamed: true, steps: []step{lost, success}, sent: 2, want: "200 well"},
		{name: "too many requests", steps: []step{status(429), status(429), success}, sent: 3, want: "200 well"},
		{name: "all temporary status codes", steps: []step{status(500), status(502), status(503), status(504), success}, sent: 5, want: "200 well"},
		{name: "permanent server error", steps: []step{status(500)}, sent: maxServerErrors, want: "500 trouble"},
		{name: "connection refused for a while", steps: slices.Concat(slices.Repeat([]step{refused}, 12), []step{success}), sent: 13, want: "200 well"},
		{name: "connection refused for too long", steps: []step{refused}, sent: anyNumber, want: "the API server did not respond for 45s: dial: connection refused"},
		{name: "connection reset for too long", steps: []step{reset}, sent: anyNumber, want: "the API server did not respond for 45s: read: the connection was reset"},
		{name: "server never reached", unknown: true, steps: []step{refused}, sent: 1, want: "connection refused"},
		{name: "host name never resolved", unknown: true, steps: []step{{err: &net.DNSError{Err: "no such host"}}}, sent: 1, want: "no such host"},
		{name: "connection closed before any response", unknown: true, steps: []step{lost, success}, sent: 2, want: "200 well"},
		{name: "untrusted certificate", steps: []step{{err: x509.UnknownAuthorityError{}}, success}, sent: 1, want: "certificate signed by unknown authority"},
		{name: "not sent on purpose", steps: []step{{err: &NotSentError{errors.New("the lock is lost")}}, success}, sent: 1, want: "the lock is lost"},
		{name: "no response to the first attempt", steps: []step{{takes: -1}, success}, sent: 2, want: "200 well"},

		{name: "update, conflict after a lost response", method: "PUT", body: named, steps: []step{lost, conflict}, sent: 2, want: "409 already exists"},
		{name: "deletion, not found after a lost response", method: "DELETE", steps: []step{lost, {code: 404, body: "gone"}}, sent: 2, want: `"status":"Success"}`},
		{name: "deletion, not found", method: "DELETE", steps: []step{{code: 404, body: "gone"}}, sent: 1, want: "404 gone"},
		{name: "merge patch", method: "PATCH", contentType: "application/merge-patch+json", body: "{}", steps: []step{lost, success}, sent: 2, want: "200 well"},
		{name: "JSON patch after a lost response", method: "PATCH", contentType: "application/json-patch+json", body: "[]", steps: []step{lost, success}, sent: 1, want: "EOF"},
		{name: "JSON patch that was not processed", method: "PATCH", contentType: "application/json-patch+json", body: "[]", steps: []step{status(429), refused, success}, sent: 3, want: "200 well"},

		{name: "creation", method: "POST", body: named, steps: []step{lost, {code: 201, body: "made"}}, sent: 2, want: "201 made"},
		{name: "creation in protobuf, response lost", method: "POST", body: protobufObject(t), steps: []step{lost, conflict, {code: 200, body: protobufObject(t)}}, sent: 3, want: "201 " + protobufObject(t)},
		{name: "creation, object exists", method: "POST", body: named, steps: []step{conflict}, sent: 1, want: "409 already exists"},
		{name: "creation, object exists after attempts that were not processed", method: "POST", body: named, steps: []step{status(429), refused, conflict}, sent: 3, want: "409 already exists"},
		{name: "creation, response lost", method: "POST", body: named, steps: []step{lost, conflict, existing(0)}, sent: 3, want: "201 " + existing(0).body},
		{name: "creation, created earlier by another client", method: "POST", body: named, steps: []step{lost, conflict, existing(-time.Hour)}, sent: 3, want: "409 already exists"},
		{name: "creation, object not found after a conflict", method: "POST", body: named, steps: []step{lost, conflict, {code: 404}}, sent: 3, want: "409 already exists"},
		{name: "creation with generateName, response lost", method: "POST", body: unnamed, steps: []step{lost, success}, sent: 1, want: "EOF"},
		{name: "creation with generateName that was not processed", method: "POST", body: unnamed, steps: []step{status(429), status(503), refused, success}, sent: 4, want: "200 well"},
		{name: "creation with generateName, server error", method: "POST", body: unnamed, steps: []step{status(500), success}, sent: 1, want: "500 trouble"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := new(ServerState)
				if !tt.unknown {
					server.MarkReached()
				}
				p := &fakeServer{steps: tt.steps}
				ctx := t.Context()
				if tt.streamed {
					ctx = WithStreaming(ctx)
				}
				if tt.method == "" {
					tt.method = http.MethodGet
				}
				got := request(ctx, t, &Transport{Base: p, ServerState: server}, tt.method, tt.contentType, tt.body)
				if !strings.HasSuffix(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				if tt.sent == anyNumber && len(p.sent) < 10 || tt.sent != anyNumber && len(p.sent) != tt.sent {
					t.Errorf("sent %d times, want %d: %q", len(p.sent), tt.sent, p.sent)
				}
				for _, sent := range p.sent {
					if strings.HasPrefix(sent, tt.method) && !strings.HasSuffix(sent, tt.body) {
						t.Errorf("sent %q without its body", sent)
					}
				}
			})
		})
	}
}

// protobufObject returns an object in protobuf. Its creation time is the start of the
// synctest bubble.
func protobufObject(t *testing.T) string {
	t.Helper()
	made := metav1.NewTime(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	data, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a", CreationTimestamp: made}})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// existing returns a response with an object whose creation time is the start of the synctest
// bubble (1 January 2000) plus a duration.
func existing(ago time.Duration) step {
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(ago)
	return step{code: 200, body: `{"metadata":{"name":"a","creationTimestamp":"` + at.Format(time.RFC3339) + `"}}`}
}

// request sends a request, and returns the status code and body of the response, or the error,
// as text.
func request(ctx context.Context, t *testing.T, transport http.RoundTripper, method, contentType, body string) string {
	t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://api/api/v1/things", content)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	got, err := send(transport, r)
	if err != nil {
		return err.Error()
	}
	return got
}

// send sends a request, and returns the status code and the body of the response.
func send(transport http.RoundTripper, r *http.Request) (string, error) {
	response, err := transport.RoundTrip(r)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, text), errors.Join(err, response.Body.Close())
}

// TestRecords checks requests for stored releases. An update is not retried for longer than
// releaseUpdateTimeout. After a conflict, a release that another operation created does not
// count as created by the request.
func TestRecords(t *testing.T) {
	const name = "sh.helm.release.v1.rel.v2"
	record := func(content string) string {
		return `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"` + name + `","creationTimestamp":"2000-01-01T00:00:00Z"},"data":{"release":"` + content + `"}}`
	}
	tests := []struct {
		name, method, path string
		steps              []step
		late, soon         bool
		want               string
	}{
		{name: "short outage", method: "PUT", path: "secrets/" + name, steps: []step{lost, refused, status(503), success}, want: "200 well"},
		{name: "connection refused for too long", method: "PUT", path: "secrets/" + name, steps: []step{refused}, late: true},
		{name: "service unavailable for too long", method: "PUT", path: "configmaps/" + name, steps: []step{status(503)}, late: true},
		{name: "no response to an update", method: "PUT", path: "secrets/" + name, steps: []step{{takes: -1}}, late: true},
		{name: "no response to a read", method: "GET", path: "secrets/" + name, steps: []step{{takes: -1}, {takes: 12 * time.Second, code: 200, body: "well"}}, want: "200 well", soon: true},
		{name: "rejected", method: "PUT", path: "secrets/" + name, steps: []step{status(403)}, want: "403 trouble"},
		{name: "created by this request", method: "POST", path: "secrets", steps: []step{lost, conflict, {code: 200, body: record("b25l")}}, want: "201 " + record("b25l")},
		{name: "created by another operation", method: "POST", path: "secrets", steps: []step{lost, conflict, {code: 200, body: record("dHdv")}}, want: "409 already exists"},
		{name: "not a stored release", method: "POST", path: "secrets", steps: []step{lost, conflict, {code: 200, body: `{"metadata":{"creationTimestamp":"2000-01-01T00:00:00Z"}}`}}, want: "409 already exists"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport := &Transport{Base: &fakeServer{steps: tt.steps}, ServerState: new(ServerState).MarkReached()}
				began := time.Now()
				r, err := http.NewRequestWithContext(t.Context(), tt.method, "http://api/api/v1/namespaces/n/"+tt.path, strings.NewReader(record("b25l")))
				if err != nil {
					t.Fatal(err)
				}
				got, err := send(transport, r)
				var late *ReleaseUpdateTimeoutError
				if errors.As(err, &late) != tt.late || err == nil && got != tt.want {
					t.Errorf("got %q, %v", got, err)
				}
				if took := time.Since(began); tt.soon && took > 4*releaseUpdateTimeout {
					t.Errorf("it took %s", took)
				}
				if took := time.Since(began); tt.late && (took < releaseUpdateTimeout || took > releaseUpdateTimeout+4*time.Second) {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// TestPauses checks that the pauses between attempts are as long as the server requests, and
// that a pause ends when the context is done.
func TestPauses(t *testing.T) {
	retryAfter429 := func(seconds string) step {
		return step{code: 429, header: http.Header{"Retry-After": {seconds}}}
	}
	synctest.Test(t, func(t *testing.T) {
		var reported []error
		p := &fakeServer{steps: []step{retryAfter429("3"), retryAfter429("100"), retryAfter429("soon"), success}}
		transport := &Transport{Base: p, ServerState: new(ServerState), OnUnavailable: func(err error) { reported = append(reported, err) }}
		if got := request(t.Context(), t, transport, http.MethodGet, "", ""); got != "200 well" {
			t.Fatal(got)
		}
		for i, want := range []time.Duration{3 * time.Second, maxRetryAfter} {
			if pause := p.times[i+1].Sub(p.times[i]); pause != want {
				t.Errorf("pause %d took %s, want %s", i, pause, want)
			}
		}
		if pause := p.times[3].Sub(p.times[2]); pause > time.Second {
			t.Errorf("a pause without Retry-After took %s", pause)
		}
		if len(reported) != 1 || reported[0].Error() != "429" {
			t.Errorf("reported %v", reported)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		over := errors.New("the operation timed out")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, over)
		defer cancel()
		began := time.Now()
		if got := request(ctx, t, &Transport{Base: &fakeServer{steps: []step{refused}}, ServerState: new(ServerState).MarkReached()}, http.MethodGet, "", ""); got != over.Error() {
			t.Errorf("got %q", got)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// TestRetriedByOneTransport checks that only the outer one of two nested Transports retries a
// request, and that none does with WithoutRetries.
func TestRetriedByOneTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakeServer{steps: []step{lost, lost, success}}
		inner := &Transport{Base: p, ServerState: new(ServerState).MarkReached()}
		if got := request(WithoutRetries(t.Context()), t, inner, http.MethodGet, "", ""); got != "EOF" || len(p.sent) != 1 {
			t.Errorf("got %q, sent %d times", got, len(p.sent))
		}
		outer := &Transport{Base: inner, ServerState: new(ServerState).MarkReached()}
		if got := request(t.Context(), t, outer, http.MethodGet, "", ""); got != "200 well" || len(p.sent) != 3 {
			t.Errorf("got %q, sent %d times", got, len(p.sent))
		}
		if elapsed := p.times[2].Sub(p.times[1]); elapsed < 80*time.Millisecond {
			t.Errorf("both transports retried: after %s", elapsed)
		}
	})
}

// TestClientTimeout checks that nothing is logged when the timeout of a client ends a request:
// the log of client-go is what the user sees on stderr.
func TestClientTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&logged))))
		defer klog.ClearLogger()
		base := &Transport{Base: &fakeServer{steps: []step{{takes: -1}}}, ServerState: new(ServerState).MarkReached()}
		client := &http.Client{Transport: transport.NewUserAgentRoundTripper("helm", base), Timeout: time.Second}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
			t.Error("the request did not time out")
		}
		if logged.Len() > 0 {
			t.Errorf("logged:\n%s", logged.String())
		}
	})
}
