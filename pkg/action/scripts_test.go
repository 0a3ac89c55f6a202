// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history/historytest"
	"github.com/ordered-helm/helm/internal/lifecycle"
)

// chartWithScript returns a chart with one template and one script.
func chartWithScript(template, script string) *chart.Chart {
	return &chart.Chart{
		Metadata:  &chart.Metadata{APIVersion: "v2", Name: "app", Version: "0.1.0", Annotations: map[string]string{annotation.Scripts: annotation.ScriptsEnabled}},
		Templates: []*chart.File{{Name: "templates/x.yaml", Data: []byte(template)}},
		Files:     []*chart.File{{Name: "ext/lua/x.lua", Data: []byte(script)}},
	}
}

// TestLongHandlers checks that an installation reports a handler that takes long, and no others.
func TestLongHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := NewInstall(previewConfiguration(t))
		i.ReleaseName, i.Namespace = historytest.ReleaseName, "default"
		var handlers lifecycle.Emitter
		for name, takes := range map[lifecycle.Event]time.Duration{lifecycle.PreRender: 2 * time.Second, lifecycle.PreInstall: 0, lifecycle.PostInstall: time.Minute} {
			if err := handlers.On(name, 0.5, func(context.Context, *lifecycle.Request) error { time.Sleep(takes); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		i.Lifecycle = &handlers
		var got []string
		i.OnEvent = func(e event.Event) {
			if e.HandlerEvent != "" {
				got = append(got, fmt.Sprint(e.Type, " ", e.HandlerEvent, " after ", e.Time.Sub(e.Since)))
			}
		}
		if _, err := i.RunWithContext(t.Context(), chartWithScript(configMap("a"), ""), nil); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"handler-running pre-render after 1s", "handler-done pre-render after 2s",
			"handler-running post-install after 1s", "handler-done post-install after 1m0s",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// addSecret is a post-renderer that adds a Secret.
type addSecret struct{}

func (addSecret) Run(manifest *bytes.Buffer) (*bytes.Buffer, error) {
	manifest.WriteString("---\napiVersion: v1\nkind: Secret\nmetadata: {name: added}\nstringData: {password: added-by-post-renderer}\n")
	return manifest, nil
}

// TestScriptOutputWhileRendering checks that the contents of Secrets are masked in what scripts print while
// a chart is rendered, even if the Secrets are hidden in the manifest.
func TestScriptOutputWhileRendering(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2-is-secret}\n"
	script := `events.on("post-render", 0.5, function(name, namespace, chart, values, manifest)
  println(manifest[1].stringData.password, " and added-by-post-renderer")
end)`
	for _, c := range []struct {
		name   string
		change func(*Install)
		want   string
	}{
		{"dry run", func(*Install) {}, "app: ****** and added-by-post-renderer"},
		{"hidden Secrets", func(i *Install) { i.HideSecret = true }, "app: ****** and added-by-post-renderer"},
		{"post-renderer", func(i *Install) { i.PostRenderer = addSecret{} }, "app: ****** and ******"},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := NewInstall(previewConfiguration(t))
			i.ReleaseName, i.Namespace, i.DryRun, i.DryRunOption = historytest.ReleaseName, "default", true, "client"
			var printed []string
			i.OnEvent = func(e event.Event) {
				if e.Type == event.ScriptOutput {
					printed = append(printed, strings.ReplaceAll(e.Message, "\t", " "))
				}
			}
			c.change(i)
			if _, err := i.RunWithContext(t.Context(), chartWithScript(secret, script), nil); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(strings.Fields(strings.Join(printed, "|")), " "); got != c.want {
				t.Errorf("printed %q, want %q", got, c.want)
			}
		})
	}
}

// TestScriptOptions checks which permissions scripts get in a program that embeds helm.
func TestScriptOptions(t *testing.T) {
	answer := func(accepted bool) func(context.Context, ScriptPermissionRequest) (bool, error) {
		return func(context.Context, ScriptPermissionRequest) (bool, error) { return accepted, nil }
	}
	for _, c := range []struct {
		name    string
		options ScriptOptions
		want    string // in the error
		refused bool   // with a *ScriptPermissionError
	}{
		{"none by default", ScriptOptions{}, `the scripts of chart "app" ask for permissions that were not accepted: network, cluster`, true},
		{"accepted", ScriptOptions{AcceptPermissions: []string{"cluster", "network"}}, "", false},
		{"some accepted", ScriptOptions{AcceptPermissions: []string{"cluster"}, AskPermissions: answer(true)}, "not accepted: network:", true},
		{"an unknown permission", ScriptOptions{AcceptPermissions: []string{"clusters"}}, `there is no permission "clusters": did you mean "cluster"?`, false},
		{"accepted when asked", ScriptOptions{AskPermissions: answer(true)}, "", false},
		{"declined when asked", ScriptOptions{AskPermissions: answer(false)}, `the permissions of chart "app" were not accepted: network, cluster`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := NewInstall(previewConfiguration(t))
			i.ReleaseName, i.Namespace, i.ScriptOptions = historytest.ReleaseName, "default", c.options
			ch := chartWithScript(configMap("a"), "assert(http and cluster and not io)")
			ch.Files = append(ch.Files, &chart.File{Name: "ext/permissions.yaml", Data: []byte("lua: [network, cluster]")})
			rel, err := i.RunWithContext(t.Context(), ch, nil)
			if _, refused := errors.AsType[*ScriptPermissionError](err); refused != c.refused || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err != nil && rel != nil {
				t.Errorf("there is a release: %+v", rel)
			}
		})
	}
}

// TestScriptOutputOfAttempts checks that an ordered install of a chart with CRDs, which it renders twice, shows
// what scripts print once.
func TestScriptOutputOfAttempts(t *testing.T) {
	const definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n"
	script := `println("loaded")
events.on("post-render", 0.5, function(name, namespace, chart, values, manifest)
  calls = (calls or 0) + 1
  println("call ", calls, " of ", manifest[1].stringData.password)
end)`
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: {{ randAlphaNum 20 }}}\n"
	i := NewInstall(previewConfiguration(t))
	i.ReleaseName, i.Namespace, i.WaitStrategy = historytest.ReleaseName, "default", WaitStrategyOrdered
	var printed []string
	i.OnEvent = func(e event.Event) {
		if e.Type == event.ScriptOutput {
			printed = append(printed, strings.ReplaceAll(e.Message, "\t", ""))
		}
	}
	ch := chartWithScript(secret, script)
	ch.Files = append(ch.Files, &chart.File{Name: "crds/x.yaml", Data: []byte(definition)})
	if _, err := i.RunWithContext(t.Context(), ch, nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{"app: loaded", "app: call 2 of ******"}; !slices.Equal(printed, want) {
		t.Errorf("printed %q, want %q", printed, want)
	}
}
