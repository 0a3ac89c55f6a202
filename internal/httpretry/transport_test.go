// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package httpretry

import (
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
)

// step is the reaction of a played server to a request: a response, or a failure of the
// connection.
type step struct {
	code   int
	header http.Header
	body   string
	err    error
	// breaks ends the response before its end. takes is the time until the response; the
	// server never responds if it is negative.
	breaks bool
	takes  time.Duration
}

// played is a server that reacts to each request with the next step. It repeats the last
// step.
type played struct {
	steps []step
	sent  []string
	times []time.Time
}

func (p *played) RoundTrip(r *http.Request) (*http.Response, error) {
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
	well    = step{code: 200, body: "well"}
	lost    = step{err: io.EOF}
	reset   = step{err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}}
	refused = step{err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	half    = step{code: 200, body: "we", breaks: true}
	full    = step{code: 409, body: "it is there"}
)

// often means any number of attempts, because it depends on the random pauses between them.
const often = -1

func status(code int) step { return step{code: code, body: "trouble"} }

// TestResend sends requests to a server that is temporarily unavailable, and checks the
// number of attempts and the result.
func TestResend(t *testing.T) {
	const named, unnamed = `{"metadata":{"name":"a"}}`, `{"metadata":{"generateName":"a-"}}`
	tests := []struct {
		name, method, body, contentType string
		unknown                         bool // the server has never responded
		streamed                        bool
		steps                           []step
		sent                            int
		want                            string // the status code and the body, or the error
	}{
		{name: "served", steps: []step{well}, sent: 1, want: "200 well"},
		{name: "an answer that says no", steps: []step{{code: 403, body: "no"}}, sent: 1, want: "403 no"},
		{name: "a connection that broke", steps: []step{lost, reset, well}, sent: 3, want: "200 well"},
		{name: "an answer that broke off", steps: []step{half, well}, sent: 2, want: "200 well"},
		{name: "a watch that broke off is its reader's", streamed: true, steps: []step{half, well}, sent: 1, want: "unexpected EOF"},
		{name: "a watch that was not answered", streamed: true, steps: []step{lost, well}, sent: 2, want: "200 well"},
		{name: "too many requests", steps: []step{status(429), status(429), well}, sent: 3, want: "200 well"},
		{name: "every sort of trouble", steps: []step{status(500), status(502), status(503), status(504), well}, sent: 5, want: "200 well"},
		{name: "trouble that stays", steps: []step{status(500)}, sent: maxServerErrors, want: "500 trouble"},
		{name: "away for long", steps: slices.Concat(slices.Repeat([]step{refused}, 12), []step{well}), sent: 13, want: "200 well"},
		{name: "away for longer", steps: []step{refused}, sent: often, want: "the API server did not respond for 45s: dial: connection refused"},
		{name: "reset for longer", steps: []step{reset}, sent: often, want: "the API server did not respond for 45s: read: the connection was reset"},
		{name: "never there", unknown: true, steps: []step{refused}, sent: 1, want: "connection refused"},
		{name: "never there by name", unknown: true, steps: []step{{err: &net.DNSError{Err: "no such host"}}}, sent: 1, want: "no such host"},
		{name: "never there, but it was", unknown: true, steps: []step{lost, well}, sent: 2, want: "200 well"},
		{name: "not to be trusted", steps: []step{{err: x509.UnknownAuthorityError{}}, well}, sent: 1, want: "certificate signed by unknown authority"},
		{name: "not to be sent", steps: []step{{err: &NotSentError{errors.New("somebody else holds it")}}, well}, sent: 1, want: "somebody else holds it"},
		{name: "no answer at all", steps: []step{{takes: -1}, well}, sent: 2, want: "200 well"},

		{name: "a change", method: "PUT", body: named, steps: []step{lost, full}, sent: 2, want: "409 it is there"},
		{name: "a deletion", method: "DELETE", steps: []step{lost, {code: 404, body: "gone"}}, sent: 2, want: `"status":"Success"}`},
		{name: "a deletion of what is not there", method: "DELETE", steps: []step{{code: 404, body: "gone"}}, sent: 1, want: "404 gone"},
		{name: "a merge", method: "PATCH", contentType: "application/merge-patch+json", body: "{}", steps: []step{lost, well}, sent: 2, want: "200 well"},
		{name: "steps of a change", method: "PATCH", contentType: "application/json-patch+json", body: "[]", steps: []step{lost, well}, sent: 1, want: "EOF"},
		{name: "steps of a change that were not taken", method: "PATCH", contentType: "application/json-patch+json", body: "[]", steps: []step{status(429), refused, well}, sent: 3, want: "200 well"},

		{name: "a creation", method: "POST", body: named, steps: []step{lost, {code: 201, body: "made"}}, sent: 2, want: "201 made"},
		{name: "a creation in the binary form", method: "POST", body: binary(t), steps: []step{lost, full, {code: 200, body: binary(t)}}, sent: 3, want: "201 " + binary(t)},
		{name: "a creation of what is there", method: "POST", body: named, steps: []step{full}, sent: 1, want: "409 it is there"},
		{name: "a creation that was refused before", method: "POST", body: named, steps: []step{status(429), refused, full}, sent: 3, want: "409 it is there"},
		{name: "a creation whose answer was lost", method: "POST", body: named, steps: []step{lost, full, made(0)}, sent: 3, want: "201 " + made(0).body},
		{name: "a creation after one of somebody else", method: "POST", body: named, steps: []step{lost, full, made(-time.Hour)}, sent: 3, want: "409 it is there"},
		{name: "a creation that nobody finds", method: "POST", body: named, steps: []step{lost, full, {code: 404}}, sent: 3, want: "409 it is there"},
		{name: "a creation under a name that the server gives", method: "POST", body: unnamed, steps: []step{lost, well}, sent: 1, want: "EOF"},
		{name: "such a one that was not taken", method: "POST", body: unnamed, steps: []step{status(429), status(503), refused, well}, sent: 4, want: "200 well"},
		{name: "such a one that failed", method: "POST", body: unnamed, steps: []step{status(500), well}, sent: 1, want: "500 trouble"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := new(Server)
				if !tt.unknown {
					server.MarkReached()
				}
				p := &played{steps: tt.steps}
				ctx := t.Context()
				if tt.streamed {
					ctx = WithStreaming(ctx)
				}
				if tt.method == "" {
					tt.method = http.MethodGet
				}
				got := ask(ctx, t, &Transport{Base: p, Server: server}, tt.method, tt.contentType, tt.body)
				if !strings.HasSuffix(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				if tt.sent == often && len(p.sent) < 10 || tt.sent != often && len(p.sent) != tt.sent {
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

// binary returns an object in protobuf, created at the beginning of the bubble.
func binary(t *testing.T) string {
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

// made returns a response with an object whose creation time is the start of the bubble,
// the beginning of 2000, plus a duration.
func made(ago time.Duration) step {
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(ago)
	return step{code: 200, body: `{"metadata":{"name":"a","creationTimestamp":"` + at.Format(time.RFC3339) + `"}}`}
}

// ask sends a request, and returns the result as text.
func ask(ctx context.Context, t *testing.T, transport http.RoundTripper, method, contentType, body string) string {
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
	got, err := sent(transport, r)
	if err != nil {
		return err.Error()
	}
	return got
}

// sent sends a request, and returns the status code and the body of the response.
func sent(transport http.RoundTripper, r *http.Request) (string, error) {
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(answer.Body)
	return fmt.Sprintf("%d %s", answer.StatusCode, text), errors.Join(err, answer.Body.Close())
}

// TestRecords checks requests for stored releases. A write is not retried after the time
// for which the lock holder is certain of its lock. After a conflict, a release that
// another operation created does not count as created by the request.
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
		{name: "a short trouble", method: "PUT", path: "secrets/" + name, steps: []step{lost, refused, status(503), well}, want: "200 well"},
		{name: "a long trouble", method: "PUT", path: "secrets/" + name, steps: []step{refused}, late: true},
		{name: "a refusal for long", method: "PUT", path: "configmaps/" + name, steps: []step{status(503)}, late: true},
		{name: "no answer", method: "PUT", path: "secrets/" + name, steps: []step{{takes: -1}}, late: true},
		{name: "no answer, to a question", method: "GET", path: "secrets/" + name, steps: []step{{takes: -1}, {takes: 12 * time.Second, code: 200, body: "well"}}, want: "200 well", soon: true},
		{name: "an answer that says no", method: "PUT", path: "secrets/" + name, steps: []step{status(403)}, want: "403 trouble"},
		{name: "its own one", method: "POST", path: "secrets", steps: []step{lost, full, {code: 200, body: record("b25l")}}, want: "201 " + record("b25l")},
		{name: "the one of somebody else", method: "POST", path: "secrets", steps: []step{lost, full, {code: 200, body: record("dHdv")}}, want: "409 it is there"},
		{name: "one that is no record", method: "POST", path: "secrets", steps: []step{lost, full, {code: 200, body: `{"metadata":{"creationTimestamp":"2000-01-01T00:00:00Z"}}`}}, want: "409 it is there"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport := &Transport{Base: &played{steps: tt.steps}, Server: new(Server).MarkReached()}
				began := time.Now()
				r, err := http.NewRequestWithContext(t.Context(), tt.method, "http://api/api/v1/namespaces/n/"+tt.path, strings.NewReader(record("b25l")))
				if err != nil {
					t.Fatal(err)
				}
				got, err := sent(transport, r)
				var late *RecordTimeoutError
				if errors.As(err, &late) != tt.late || err == nil && got != tt.want {
					t.Errorf("got %q, %v", got, err)
				}
				if took := time.Since(began); tt.soon && took > 4*recordTimeout {
					t.Errorf("it took %s", took)
				}
				if took := time.Since(began); tt.late && (took < recordTimeout || took > recordTimeout+4*time.Second) {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// TestRests checks that the pauses between attempts are as long as the server requests, and
// that no pause continues after the end of the operation.
func TestRests(t *testing.T) {
	later := func(seconds string) step {
		return step{code: 429, header: http.Header{"Retry-After": {seconds}}}
	}
	synctest.Test(t, func(t *testing.T) {
		var said []error
		p := &played{steps: []step{later("3"), later("100"), later("soon"), well}}
		transport := &Transport{Base: p, Server: new(Server), OnUnavailable: func(err error) { said = append(said, err) }}
		if got := ask(t.Context(), t, transport, http.MethodGet, "", ""); got != "200 well" {
			t.Fatal(got)
		}
		for i, want := range []time.Duration{3 * time.Second, maxRetryAfter} {
			if rest := p.times[i+1].Sub(p.times[i]); rest != want {
				t.Errorf("rest %d took %s, want %s", i, rest, want)
			}
		}
		if rest := p.times[3].Sub(p.times[2]); rest > time.Second {
			t.Errorf("a rest that nobody asked for took %s", rest)
		}
		if len(said) != 1 || said[0].Error() != "429" {
			t.Errorf("said %v", said)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		over := errors.New("the operation is over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, over)
		defer cancel()
		began := time.Now()
		if got := ask(ctx, t, &Transport{Base: &played{steps: []step{refused}}, Server: new(Server).MarkReached()}, http.MethodGet, "", ""); got != over.Error() {
			t.Errorf("got %q", got)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// TestOnce checks that a request is not retried by two transports, or if its caller retries
// it.
func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &played{steps: []step{lost, lost, well}}
		inner := &Transport{Base: p, Server: new(Server).MarkReached()}
		if got := ask(WithoutRetries(t.Context()), t, inner, http.MethodGet, "", ""); got != "EOF" || len(p.sent) != 1 {
			t.Errorf("got %q, sent %d times", got, len(p.sent))
		}
		outer := &Transport{Base: inner, Server: new(Server).MarkReached()}
		if got := ask(t.Context(), t, outer, http.MethodGet, "", ""); got != "200 well" || len(p.sent) != 3 {
			t.Errorf("got %q, sent %d times", got, len(p.sent))
		}
		if elapsed := p.times[2].Sub(p.times[1]); elapsed < 80*time.Millisecond {
			t.Errorf("two of them sent it again: after %s", elapsed)
		}
	})
}
