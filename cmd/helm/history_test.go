// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/pkg/action"
)

func TestHistory(t *testing.T) {
	first := revision(t, 1, action.WaitStrategyNone)
	first.Info.Status = release.StatusSuperseded
	mixed, plain := storeHistory(t), store(t, revision(t, 2, action.WaitStrategyNone), first)
	ordered := store(t, revision(t, 2, action.WaitStrategyOrdered))
	tests := []struct {
		name, line, data string
		want             outcome
	}{
		{name: "without an order", line: "history shop", data: plain, want: outcome{stdout: `
REVISION	UPDATED                 	STATUS    	CHART     	APP VERSION	DESCRIPTION     
1       	Thu Jan  1 12:00:00 2026	superseded	shop-1.0.0	           	Install complete
2       	Fri Jan  2 12:00:00 2026	deployed  	shop-1.0.0	           	Install complete
`}},
		{name: "without an order, JSON", line: "history shop --max 1 -o json", data: plain, want: outcome{stdout: `
[{"revision":2,"updated":"2026-01-02T12:00:00Z","status":"deployed","chart":"shop-1.0.0","app_version":"","description":"Install complete"}]
`}},
		{name: "ordered", line: "hist shop", data: mixed, want: outcome{stdout: `
REVISION	UPDATED                 	STATUS    	CHART     	APP VERSION	DESCRIPTION     	ORDER  
1       	Thu Jan  1 12:00:00 2026	superseded	shop-1.0.0	           	Install complete	       
2       	Fri Jan  2 12:00:00 2026	superseded	shop-1.0.0	           	Install complete	ordered
3       	Sat Jan  3 12:00:00 2026	superseded	shop-1.0.0	           	Install complete	unknown
4       	Sun Jan  4 12:00:00 2026	deployed  	shop-1.0.0	           	Install complete	ignored
`}},
		{name: "ordered, JSON", line: "history shop -o json", data: mixed, want: outcome{stdout: `
[{"revision":1,"updated":"2026-01-01T12:00:00Z","status":"superseded","chart":"shop-1.0.0","app_version":"","description":"Install complete"},` +
			`{"revision":2,"updated":"2026-01-02T12:00:00Z","status":"superseded","chart":"shop-1.0.0","app_version":"","description":"Install complete","ordered":true},` +
			`{"revision":3,"updated":"2026-01-03T12:00:00Z","status":"superseded","chart":"shop-1.0.0","app_version":"","description":"Install complete","orderError":"` + damagedRecord + `"},` +
			`{"revision":4,"updated":"2026-01-04T12:00:00Z","status":"deployed","chart":"shop-1.0.0","app_version":"","description":"Install complete","orderIgnored":true}]
`}},
		{name: "ordered, YAML", line: "history shop -o yaml", data: ordered, want: outcome{stdout: `
- app_version: ""
  chart: shop-1.0.0
  description: Install complete
  ordered: true
  revision: 2
  status: deployed
  updated: "2026-01-02T12:00:00Z"
`}},
		{name: "no revision", line: "history shop --max 0 -o json", data: mixed, want: outcome{stdout: "\n[]\n"}},
		{name: "fewer than none", line: "history shop --max -1", data: mixed, want: outcome{stdout: `
REVISION	UPDATED	STATUS	CHART	APP VERSION	DESCRIPTION
`}},
		{name: "no release", line: "history stop", data: mixed, want: outcome{code: 1, stderr: "Error: release: not found\n"}},
		{name: "no name of a release", line: "history Shop_", data: mixed, want: outcome{code: 1, stderr: "Error: release name is invalid: Shop_\n"}},
		{name: "no name", line: "history", data: mixed, want: outcome{code: 1,
			stderr: "Error: \"helm history\" requires 1 argument\n\nUsage:  helm history RELEASE_NAME [flags]\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("HELM_DRIVER", "memory")
			t.Setenv("HELM_MEMORY_DRIVER_DATA", tt.data)
			got := runHelm(t, strings.Fields(tt.line)...)
			tt.want.stdout = strings.TrimPrefix(tt.want.stdout, "\n")
			if got != tt.want {
				t.Errorf("got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}
