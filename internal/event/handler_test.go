// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/redact"
)

// scriptError is an error with details, as those of scripts are.
type scriptError struct{}

func (scriptError) Error() string { return scriptError{}.WithoutDetails() + "\nstack traceback:" }

func (scriptError) WithoutDetails() string { return "the password is " + secret }

func (scriptError) Details() []string { return []string{"stack traceback:"} }

// TestHandlerProgress checks the events of handlers. While the Secrets of a release are not known, errors of
// handlers could contain them.
func TestHandlerProgress(t *testing.T) {
	start := time.Now()
	for _, c := range []struct {
		name      string
		in        lifecycle.Progress
		isUnknown bool
		want      string
	}{
		{"running", lifecycle.Progress{Event: lifecycle.PostInstall, Chart: "shop"}, false,
			"handler-running post-install shop: waiting for the post-install handler of shop <nil>"},
		{"running in a program", lifecycle.Progress{Event: lifecycle.Ready}, false,
			"handler-running ready : waiting for the ready handler of this program <nil>"},
		{"not done", lifecycle.Progress{Event: lifecycle.Wait, Chart: "shop/charts/db"}, false,
			"handler-running wait shop/charts/db: waiting for handlers of shop/charts/db <nil>"},
		{"done", lifecycle.Progress{Event: lifecycle.PostInstall, Chart: "shop", Done: true}, false, "handler-done post-install shop:  <nil>"},
		{"failed", lifecycle.Progress{Event: lifecycle.PostInstall, Chart: "shop", Done: true, Err: scriptError{}}, false,
			"handler-done post-install shop:  the password is ******"},
		{"failed while rendering", lifecycle.Progress{Event: lifecycle.PostRender, Chart: "shop", Done: true, Err: errors.New("new secret")}, false,
			"handler-done post-render shop:  the handler failed"},
		{"failed before Secrets are known", lifecycle.Progress{Event: lifecycle.PreValidate, Chart: "shop", Done: true, Err: errors.New(secret)}, true,
			"handler-done pre-validate shop:  the handler failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got strings.Builder
			s := NewSink(func(e Event) {
				fmt.Fprintf(&got, "%s %s %s: %s %v", e.Type, e.HandlerEvent, e.Chart, e.Message, e.Err)
				if e.Node != "shop:db" || !e.Since.Equal(start) {
					t.Errorf("got %+v", e)
				}
			}, nil)
			if !c.isUnknown {
				s.RedactWith(redact.New([]string{secret}))
			}
			c.in.Start = start
			s.HandlerProgress("shop:db")(c.in)
			if got.String() != c.want {
				t.Errorf("got %q, want %q", got.String(), c.want)
			}
		})
	}
}
