// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPageMatchesResults checks that docs/benchmarks.md is what Page returns for
// docs/benchmarks.json, so that nobody edits it by hand.
func TestPageMatchesResults(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	results, err := load(docs)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(docs, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != Page(results) {
		t.Errorf("docs/%s is not what docs/%s says: run make bench-page", pageFile, dataFile)
	}
}

func TestUpdateReplacesMeasuredResults(t *testing.T) {
	dir := t.TempDir()
	first, second := made(ChainName(10), Install, map[string]float64{Ours: 1}), made(FanOutName, Install, map[string]float64{Ours: 2})
	for _, measured := range [][]Result{{first, second}, {made(FanOutName, Install, map[string]float64{Ours: 3})}, nil} {
		if err := Update(dir, measured); err != nil {
			t.Fatal(err)
		}
	}
	results, err := load(dir)
	if err != nil || len(results) != 2 {
		t.Fatalf("%d results are kept, %v", len(results), err)
	}
	for name, want := range map[string]float64{ChainName(10): 1, FanOutName: 3} {
		if got, _ := results[name].seconds(Install, Ours); got != want {
			t.Errorf("%s took %v, want %v", name, got, want)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, pageFile))
	if err != nil || string(page) != Page(results) {
		t.Errorf("the page is not that of the results: %v", err)
	}
}

func TestResultTables(t *testing.T) {
	r := made(ChainName(10), Install, map[string]float64{Ours: 3, Hand: 4, Stock: 2})
	r.Base = []string{Hand, Stock}
	for _, want := range []string{
		"| step | tool | median s | min–max | ÷ hand + stock | CPU s | MiB | requests |\n|",
		"| install | ours | 3.000 | 3.000–3.000 | 0.500 | 3.000 | 3 | 3 get |\n",
		"|  | stock | 2.000 | 2.000–2.000 | 0.333 |",
	} {
		if got := r.grid().markdown(); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := r.Text(); !strings.Contains(got, "\ninstall  ours   3.000") {
		t.Errorf("the table for a terminal is\n%s", got)
	}
}

func TestGrowthPlot(t *testing.T) {
	r := Result{Name: GrowthName, Title: "Growth", Rounds: 1}
	for _, step := range growthSteps {
		for _, n := range []int{1000, 3000} {
			r.Rows = append(r.Rows, Row{Step: step, Tool: Ours, Size: n, Wall: []float64{float64(n) / 500}, Peak: 100, Requests: map[string]int{"get": n}})
		}
	}
	page := Page(Results{GrowthName: r})
	for _, want := range []string{
		"x-axis \"objects\" [\"1,000\", \"3,000\"]", "    line [2.0000, 2.0000]\n", "1.00 (install), 1.00 (no-op upgrade), 1.00 (uninstall)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}
