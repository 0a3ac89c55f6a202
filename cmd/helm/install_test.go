// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// listener is a writer that calls a function once a word has been written to it.
type listener struct {
	word  string
	heard func()

	mu   sync.Mutex
	text bytes.Buffer
}

func (l *listener) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if bytes.Contains(l.text.Bytes(), []byte(l.word)) {
		l.heard()
	}
	return len(p), nil
}

// TestCancelMessage interrupts operations during their first request to the API server, and
// checks that the message is printed where it does not mix with the result.
func TestCancelMessage(t *testing.T) {
	const said, rolling = "Release shop has been cancelled.\n", "Rollback of release shop has been cancelled.\n"
	chart := writeChart(t, map[string]string{
		"Chart.yaml":        "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	})
	for name, c := range map[string]struct {
		line           string // %s is replaced by a chart
		said           string // "Release shop has been cancelled." if empty
		stdout, stderr bool
		printsJSON     bool
	}{
		"plain":                      {line: "install shop %s", stdout: true},
		"plain, waiting":             {line: "install shop --wait %s", stdout: true},
		"plain, JSON":                {line: "install shop -o json %s", stderr: true},
		"plain, YAML":                {line: "install shop -o yaml %s", stderr: true},
		"ordered":                    {line: "install shop --wait=ordered %s", stderr: true},
		"ordered, JSON":              {line: "install shop --wait=ordered -o json %s", stderr: true, printsJSON: true},
		"template, checked":          {line: "template shop --validate %s", stdout: true},
		"template, checked, ordered": {line: "template shop --validate --wait=ordered %s", stderr: true},
		"upgrade":                    {line: "upgrade shop %s", stdout: true},
		"upgrade, JSON":              {line: "upgrade shop %s -o json", stderr: true},
		"upgrade, ordered":           {line: "upgrade shop %s --wait=ordered", stderr: true},
		"upgrade, ordered, JSON":     {line: "upgrade shop %s --wait=ordered -o json", stderr: true, printsJSON: true},
		"rollback":                   {line: "rollback shop", said: rolling, stderr: true},
		"rollback, ordered":          {line: "rollback shop 1 --wait=ordered", said: rolling, stderr: true},
		"uninstall":                  {line: "uninstall shop", said: "Uninstall of release shop has been cancelled.\n", stderr: true},
	} {
		t.Run(name, func(t *testing.T) {
			words := cmp.Or(c.said, said)
			announced := make(chan struct{})
			announce := sync.OnceFunc(func() { close(announced) })
			interrupt := sync.OnceValue(func() error { return syscall.Kill(os.Getpid(), syscall.SIGINT) })
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if err := interrupt(); err != nil {
					t.Error(err)
					announce()
				}
				<-announced
				w.WriteHeader(http.StatusForbidden)
			}))
			defer server.Close()
			isolate(t, server.URL)
			stdout, stderr := &listener{word: "cancelled", heard: announce}, &listener{word: "cancelled", heard: announce}
			line := strings.ReplaceAll(c.line, "%s", chart)
			if code := run(t.Context(), strings.Fields(line), stdout, stderr); code != 1 {
				t.Errorf("exit code %d", code)
			}
			if got := strings.Contains(stdout.text.String(), words); got != c.stdout {
				t.Errorf("stdout: %s", &stdout.text)
			}
			if got := strings.Contains(stderr.text.String(), words); got != c.stderr {
				t.Errorf("stderr: %s", &stderr.text)
			}
			if c.printsJSON && !json.Valid(stdout.text.Bytes()) {
				t.Errorf("not JSON: %s", &stdout.text)
			}
		})
	}
}
