// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/testutil/golden"
)

// uninstalledAfterFailure returns the events of an installation that failed and was
// uninstalled because of --atomic. They contain everything that a timeline can show.
func uninstalledAfterFailure() *script {
	failed := errors.New("Deployment/b was not ready within 10s")
	return install().
		tell(event.Event{Type: event.Warning, Message: "chart shop says nothing of its order"}).
		at(0.5).hook(event.HookStarted, "Job/m", nil).
		at(1.25).tell(event.Event{Type: event.HookLog, Hook: "Job/m", HookEvent: "pre-install", Message: "3 left"}).
		at(2).hook(event.HookDone, "Job/m", nil).handler(event.HandlerRunning, "pre-install", 1, nil).handler(event.HandlerDone, "pre-install", 1, nil).
		node(event.NodeStarted, "shop:a", "").at(2.1).node(event.NodeApplied, "shop:a", "").
		at(3).node(event.NodeReady, "shop:a", "").node(event.NodeStarted, "shop:b", "shop:a").
		resource("shop:b", "Deployment/b", "InProgress", "Available: 0/1").
		at(5).tell(event.Event{
		Type: event.ResourceChanged, Node: "shop:b", Resource: "Deployment/b", Namespace: "other", State: "InProgress",
		Message: "InProgress: Available: 0/1", Cause: "Pod b-1: CrashLoopBackOff",
	}).
		at(13).tell(event.Event{Type: event.NodeFailed, Node: "shop:b", Err: failed, Message: failed.Error()}).
		begin("uninstall").planned(event.Planned, "shop:a").node(event.NodeDeleting, "shop:a", "").
		at(14).node(event.NodeDeleted, "shop:a", "").finish(nil).finish(failed)
}

func encoded(t *testing.T, s *script, encode func(*bytes.Buffer, *Timeline) error) string {
	t.Helper()
	var out bytes.Buffer
	s.recorder.Read(func(tl *Timeline) {
		if err := encode(&out, tl); err != nil {
			t.Fatal(err)
		}
	})
	return out.String()
}

func asJSON(out *bytes.Buffer, tl *Timeline) error { return JSON(out, tl) }

func asHTML(out *bytes.Buffer, tl *Timeline) error { return HTML(out, tl) }

func TestJSON(t *testing.T) {
	got := encoded(t, uninstalledAfterFailure(), asJSON)
	golden.Assert(t, got, "undone.json")
}

// TestHTML checks that the page contains the same data as the JSON output, and loads no
// external resources.
func TestHTML(t *testing.T) {
	s := uninstalledAfterFailure().begin("install").planned(event.Planned, `shop:</script><script>alert(1)</script>`, "shop:データベース").finish(nil)
	got := encoded(t, s, asHTML)
	data := regexp.MustCompile(`(?s)<script id="timeline" type="application/json">(.*?)</script>`).FindStringSubmatch(got)
	if data == nil {
		t.Fatalf("there are no data in the page:\n%s", got)
	}
	var inPage, want any
	if err := json.Unmarshal([]byte(data[1]), &inPage); err != nil {
		t.Fatalf("%v in:\n%s", err, data[1])
	}
	if err := json.Unmarshal([]byte(encoded(t, s, asJSON)), &want); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(inPage)
	b, _ := json.Marshal(want)
	if !bytes.Equal(a, b) {
		t.Errorf("the page has\n%s\nand not\n%s", a, b)
	}
	for _, reference := range []string{"http:", "https:", "//cdn", " src=", "@import", "url("} {
		if strings.Contains(got, reference) {
			t.Errorf("the page refers to something else: %q", reference)
		}
	}
	if n := strings.Count(got, "<script"); n != 2 {
		t.Errorf("%d scripts in the page", n)
	}
}
