// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/ordererror"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/plans"
)

const (
	needs   = "depends-on.helm.sh/external="
	timeout = "helm.sh/external-timeout="
)

// TestExternal checks where the graph waits for external dependencies.
func TestExternal(t *testing.T) {
	withExternal := func(c *sequencer.Chart, texts ...string) *sequencer.Chart {
		c.External, c.ExternalKey = texts, "depends-on.helm.sh/external"
		return c
	}
	tests := []struct {
		name      string
		root      *sequencer.Chart
		resources []string
		files     []string
		want      []string
	}{
		{
			"an unlayered resource is a node of its own", plans.V3("shop"), []string{"shop Job/a " + needs + "Secret/s", "shop Job/b"}, nil,
			[]string{"shop < shop:(Job/a), shop:(Job/a):(external dependencies)", "shop:(Job/a) < shop:(Job/a):(external dependencies)", "shop:(Job/a):(external dependencies) <"},
		},
		{
			"a layer waits when everything else on which it depends is ready", plans.V3("shop"), []string{"shop Job/a layer=one", "shop Job/b layer=two after=one " + needs + "Secret/s", "shop Job/c layer=two"}, nil,
			[]string{
				"shop:one <", "shop:two < shop:one, shop:two:(external dependencies)", "shop:two:(external dependencies) < shop:one",
			},
		},
		{
			"a chart, its subcharts and its hooks", withExternal(scoped(plans.V3("shop", plans.V3("db")), "chart"), "release:infra"), []string{"shop Job/a", "shop/db Job/b"}, nil,
			[]string{
				"shop < shop:(external dependencies), shop:(pre-install hooks)", "shop/db < shop:(external dependencies), shop:(pre-install hooks)",
				"shop:(external dependencies) <", "shop:(pre-install hooks) < shop:(external dependencies)",
			},
		},
		{
			"timeouts of their own", plans.V3("shop"), []string{"shop Job/a layer=l " + needs + "Secret/s " + timeout + "1m", "shop Job/b layer=l " + needs + "Secret/t"}, nil,
			[]string{
				"shop:l < shop:l:(external dependencies), shop:l:(external dependencies)#2", "shop:l:(external dependencies) <", "shop:l:(external dependencies)#2 <",
			},
		},
		{
			"declared by an order file", plans.V2("shop", plans.V2("db")), []string{"shop/db Job/a", "shop/db Job/b"},
			[]string{"shop", "charts: [{path: db, external: [Secret/s]}]\nresources: [{match: {name: b}, external: [Secret/t]}]"},
			[]string{
				"shop/db < shop/db:(Job/b), shop/db:(Job/b):(external dependencies), shop/db:(external dependencies)",
				"shop/db:(Job/b) < shop/db:(Job/b):(external dependencies), shop/db:(external dependencies)",
				"shop/db:(Job/b):(external dependencies) < shop/db:(external dependencies)", "shop/db:(external dependencies) <",
			},
		},
		{
			"declared by a chart that is not ordered", withExternal(plans.V2("shop"), "Secret/s"), []string{"shop Job/a " + needs + "Secret/t"}, nil,
			[]string{"shop <"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := sequencer.Input{
				Root: tt.root, Resources: plans.Resources(tt.resources...), Namespace: "default", Operation: sequencer.Install, OrderFiles: orderFiles(t, tt.files...),
				Hooks: []sequencer.Hook{{Chart: "shop", Events: []release.HookEvent{release.HookPreInstall}}},
			}
			p, err := sequencer.Build(in)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := after(t, p), strings.Join(tt.want, "\n"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			in.IgnoreExternal = true
			if p, err = sequencer.Build(in); err != nil || strings.Contains(after(t, p), "external") {
				t.Errorf("with IgnoreExternal: %v", err)
			}
			in.IgnoreExternal, in.Operation = false, sequencer.Uninstall
			if p, err = sequencer.Build(in); err != nil || strings.Contains(after(t, p), "external") {
				t.Errorf("uninstall: %v", err)
			}
		})
	}
}

// TestExternalDeclarations checks what a step says about its dependencies.
func TestExternalDeclarations(t *testing.T) {
	p := plans.Build(t, plans.V3("shop"), plans.Resources("shop Job/a layer=l "+needs+"Secret/s,Deployment.apps/ns/d "+timeout+"2m", "shop Job/b layer=l "+needs+"Secret/s "+timeout+"2m"))
	if len(p.Steps) != 1 {
		t.Fatalf("%d steps", len(p.Steps))
	}
	s := p.Steps[0]
	if s.Timeout != 2*time.Minute || s.Node != p.Nodes[0] || s.Title() != `external dependencies of layer "l" of chart shop` {
		t.Errorf("got %+v", s)
	}
	var got []string
	for _, e := range s.External {
		for _, r := range e.Reasons {
			got = append(got, e.Need.String()+" "+r.Resource+" "+r.File)
		}
	}
	if want := "Deployment.apps/ns/d Job/a shop/templates/a.yaml;Secret/s Job/a shop/templates/a.yaml;Secret/s Job/b shop/templates/b.yaml"; strings.Join(got, ";") != want {
		t.Errorf("got %q", got)
	}
}

// TestExternalErrors checks external dependencies that are invalid.
func TestExternalErrors(t *testing.T) {
	tests := []struct {
		name      string
		resources []string
		files     []string
		want      string
	}{
		{
			"an object of the release", []string{"shop Job/a " + needs + "Secret/s", "shop Secret/s"}, nil,
			`shop/templates/a.yaml: Job/a: depends-on.helm.sh/external: "Secret/s": is part of the same release (shop/templates/s.yaml): use layers instead`,
		},
		{
			"an object of the release in another namespace", []string{"shop Job/a " + needs + "Secret/other/s", "shop Secret/s ns=other"}, nil, "is part of the same release",
		},
		{
			"of a rule about a chart", []string{"shop Secret/s"}, []string{"shop", "charts: [{path: ., external: [Secret/s]}]"}, `shop/order.yaml: charts[0].external: "Secret/s": is part of the same release`,
		},
		{
			"of a rule", []string{"shop Job/a"}, []string{"shop", "resources: [{match: {}, external: [nothing]}]"}, `shop/order.yaml: Job/a: resources[0].external: "nothing": `,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := sequencer.Build(sequencer.Input{Root: plans.V3("shop"), Resources: plans.Resources(tt.resources...), Namespace: "default", OrderFiles: orderFiles(t, tt.files...)})
			if _, is := errors.AsType[*ordererror.ExternalError](err); !is || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
	resources := plans.Resources("shop Job/a "+needs+"Secret/other/s", "shop Secret/s")
	if _, err := sequencer.Build(sequencer.Input{Root: plans.V3("shop"), Resources: resources, Namespace: "default"}); err != nil {
		t.Error(err)
	}
}
