// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartscripts_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/luasandbox"
)

func TestDecide(t *testing.T) {
	charts := []*chartscripts.Chart{ // subcharts first, as Read returns them
		{Path: "shop/charts/db", Permissions: []luasandbox.Permission{luasandbox.Cluster, luasandbox.Network}},
		{Path: "shop/charts/web"},
		{Path: "shop", Permissions: []luasandbox.Permission{luasandbox.Network}},
	}
	const all = "map[shop:[network] shop/charts/db:[cluster network]]"
	failed := errors.New("no terminal")
	for name, test := range map[string]struct {
		accepted []string
		// answers are the answers by the path of the chart. If they are nil, nobody can be asked.
		answers map[string]bool
		failure error
		asked   []string
		want    string
		err     string
	}{
		"accepted":                   {accepted: []string{"network", "cluster"}, want: all},
		"more accepted than needed":  {accepted: []string{"filesystem", "network", "cluster"}, want: all},
		"one refused":                {accepted: []string{"network"}, err: `the scripts of chart "shop/charts/db" ask for permissions that were not accepted: cluster: read them (helm show scripts, helm get scripts), and accept with --accept-perms cluster, or with --yes whatever the charts ask for`},
		"nothing is asked":           {accepted: []string{"network"}, answers: map[string]bool{"shop": true, "shop/charts/db": true}, err: `the scripts of chart "shop/charts/db" ask`},
		"an unknown name":            {accepted: []string{"network", "cluser"}, answers: map[string]bool{}, err: `there is no permission "cluser": did you mean "cluster"?`},
		"nobody to ask":              {err: `the scripts of chart "shop" ask for permissions that were not accepted: network: `},
		"yes":                        {answers: map[string]bool{"shop": true, "shop/charts/db": true}, asked: []string{"shop", "shop/charts/db"}, want: all},
		"no":                         {answers: map[string]bool{"shop": false, "shop/charts/db": true}, asked: []string{"shop"}, err: `the permissions of chart "shop" were not accepted: network`},
		"no for the second question": {answers: map[string]bool{"shop": true}, asked: []string{"shop", "shop/charts/db"}, err: `the permissions of chart "shop/charts/db" were not accepted: cluster, network`},
		"asking fails":               {answers: map[string]bool{}, failure: failed, asked: []string{"shop"}, err: "no terminal"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			a := chartscripts.Acceptance{Accepted: test.accepted}
			if test.answers != nil {
				a.Ask = func(_ context.Context, r chartscripts.PermissionRequest) (bool, error) {
					asked = append(asked, r.Chart)
					return test.answers[r.Chart], test.failure
				}
			}
			got, err := a.Decide(t.Context(), charts)
			if !slices.Equal(asked, test.asked) {
				t.Errorf("asked about %q, want %q", asked, test.asked)
			}
			if test.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), test.err) || got != nil {
					t.Errorf("got %v and the error %v, want %s", got, err, test.err)
				}
				return
			}
			if err != nil || fmt.Sprint(got) != test.want {
				t.Errorf("got %v, %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestDecideWithoutPermissions(t *testing.T) {
	ask := func(context.Context, chartscripts.PermissionRequest) (bool, error) {
		t.Error("asked, although no chart needs permissions")
		return false, nil
	}
	got, err := chartscripts.Acceptance{Ask: ask}.Decide(t.Context(), []*chartscripts.Chart{{Path: "shop"}})
	if err != nil || len(got) > 0 {
		t.Errorf("got %v, %v, want no permissions", got, err)
	}
}

func TestRequestText(t *testing.T) {
	r := chartscripts.PermissionRequest{Chart: "shop\x1b[2J", Permissions: chartscripts.AllPermissions()}
	want := `Chart "shop" is requesting the following additional permissions:
  - network: Access the network
  - filesystem: Access the local filesystem
  - environment: Read environment variables
  - cluster: Read objects in the cluster, except Secrets
`
	if got := r.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestText(t *testing.T) {
	charts, err := chartscripts.Read(with(
		newChart("shop", file("ext/lua/b.lua", "println('b')\n\n"), file("ext/lua/a.lua", "println('\x1b[2Ja\xff')"), file("ext/permissions.yaml", "lua: [network, cluster]")),
		newChart("db", file("ext/lua/wait.lua", "-- empty"))))
	if err != nil {
		t.Fatal(err)
	}
	got := chartscripts.Text(charts, map[string][]luasandbox.Permission{"shop": {luasandbox.Network}})
	if strings.ContainsFunc(got, func(r rune) bool { return r < ' ' && r != '\n' }) || !strings.Contains(got, "a\ufffd')") {
		t.Errorf("the text contains control characters: %q", got)
	}
	start := strings.Index(got, "println('")
	end := strings.Index(got, "\n-- Source: shop/ext/lua/b.lua")
	if start < 0 || end < start {
		t.Fatalf("got the text %q", got)
	}
	want := `---
-- Chart: shop
-- Permissions: network, cluster
-- Accepted when the revision was created: network
-- Source: shop/ext/lua/a.lua

-- Source: shop/ext/lua/b.lua
println('b')
---
-- Chart: shop/charts/db
-- Permissions: none
-- Source: shop/charts/db/ext/lua/wait.lua
-- empty
`
	if got = got[:start] + got[end:]; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := chartscripts.Text(nil, nil); got != "" {
		t.Errorf("without scripts, got the text %q", got)
	}
}
