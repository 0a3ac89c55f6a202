// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/cli/output"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// releases returns a release without and with an order record, which is stored in an
// additional file of the chart.
func releases(t *testing.T, files ...*chart.File) (bare, recorded *release.Release) {
	t.Helper()
	ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "shop", Version: "1.0.0"}, Files: files}
	attached, err := orderrecord.WithRecord(ch, &orderrecord.Record{Ordered: true, Charts: &sequencer.Chart{Name: "shop"}})
	if err != nil {
		t.Fatal(err)
	}
	of := func(ch *chart.Chart) *release.Release {
		return &release.Release{
			Name: "shop", Namespace: "default", Version: 1, Chart: ch, Info: &release.Info{Status: release.StatusDeployed},
		}
	}
	return of(ch), of(attached)
}

func TestOrderRecordIsNotPrinted(t *testing.T) {
	for title, files := range map[string][]*chart.File{
		"no files": nil, "files": {{Name: "README.md", Data: []byte("read me")}},
	} {
		bare, recorded := releases(t, files...)
		for name, printer := range map[string]func(*release.Release) output.Writer{
			"release": func(rel *release.Release) output.Writer { return &releasePrinter{release: rel} },
			"failure": func(rel *release.Release) output.Writer {
				return printer{data: newFailedRelease(rel, errors.New("no"))}
			},
		} {
			for format, encode := range map[output.Format]func(*bytes.Buffer, any) error{
				output.JSON: func(out *bytes.Buffer, v any) error { return output.EncodeJSON(out, v) },
				output.YAML: func(out *bytes.Buffer, v any) error { return output.EncodeYAML(out, v) },
			} {
				t.Run(strings.Join([]string{title, name, string(format)}, ", "), func(t *testing.T) {
					var want, of, ofRecorded bytes.Buffer
					var plain any = bare
					if name == "failure" {
						plain = &failedRelease{bare, failureSummary{"no"}}
					}
					if err := errors.Join(
						encode(&want, plain),
						format.Write(&of, printer(bare)),
						format.Write(&ofRecorded, printer(recorded)),
					); err != nil {
						t.Fatal(err)
					}
					if of.String() != want.String() {
						t.Errorf("a release without a record:\n%swant:\n%s", &of, &want)
					}
					if ofRecorded.String() != want.String() {
						t.Errorf("a release with a record:\n%swant:\n%s", &ofRecorded, &want)
					}
					if len(recorded.Chart.Files) != len(bare.Chart.Files)+1 {
						t.Error("printing has changed the release")
					}
				})
			}
		}
	}
}

func TestStoredOrderRecordsAreNotPrinted(t *testing.T) {
	_, recorded := releases(t, &chart.File{Name: "README.md", Data: []byte("read me")})
	data, err := json.Marshal([]*release.Release{recorded})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "releases.yaml")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HELM_DRIVER", "memory")
	t.Setenv("HELM_MEMORY_DRIVER_DATA", path)
	for line, want := range map[string]string{
		"get all shop --template {{range(.Release.Chart.Files)}}{{.Name}}{{end}}": "README.md",
		"get all shop":              "NAME: shop\n",
		"get metadata shop -o json": `"name":"shop"`,
		"get metadata shop -o yaml": "name: shop\n",
		"status shop -o json":       `"name":"shop"`,
		"status shop -o yaml":       "name: shop\n",
		"list -o json":              `"name":"shop"`,
	} {
		t.Run(line, func(t *testing.T) {
			got := runHelm(t, strings.Fields(line)...)
			if got.code != 0 || !strings.Contains(got.stdout, want) || strings.Contains(got.stdout, "ordered-helm") {
				t.Errorf("%+v", got)
			}
		})
	}
}
