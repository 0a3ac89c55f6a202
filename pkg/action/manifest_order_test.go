// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/postrender"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/testutil/chartgen"
	"github.com/ordered-helm/helm/pkg/action"
)

// forEachArrangement renders random charts with the given arrangement, and passes each
// manifest to check. oracle says which of its objects must come before which.
func forEachArrangement(t *testing.T, how action.Arrangement, check func(t *testing.T, manifest string, oracle *chartgen.ExpectedOrder)) {
	posts := map[string]postrender.PostRenderer{
		"none": nil, "drops comments": chartgen.PostRenderer(chartgen.DropComments), "writes JSON": chartgen.PostRenderer(chartgen.ToJSON),
		"reorders": chartgen.PostRenderer(chartgen.Reverse),
	}
	for name, post := range posts {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(8) {
				r := rand.New(rand.NewPCG(seed, 1))
				random := chartgen.Random(r)
				i := installer(configuration(memory()), post)
				i.ClientOnly, i.DryRun, i.Arrange = true, true, how
				rel, err := i.RunWithContext(t.Context(), load(t, random.Files(r)), map[string]any{})
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				check(t, rel.Manifest, random.ExpectedOrder())
			}
		})
	}
}

// objects returns the objects of a manifest in manifest order.
func objects(t *testing.T, manifest string) []map[string]any {
	t.Helper()
	var all []map[string]any
	var add func(object map[string]any)
	add = func(object map[string]any) {
		items, isList := object["items"].([]any)
		if !isList {
			all = append(all, object)
		}
		for _, item := range items {
			add(item.(map[string]any))
		}
	}
	for _, doc := range render.Split(manifest) {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		if len(object) > 0 {
			add(object)
		}
	}
	return all
}

func nameOf(object map[string]any) string {
	return object["metadata"].(map[string]any)["name"].(string)
}

// TestArrangedManifestIsInOrder checks that every object comes after the objects on which
// it depends, and occurs once.
func TestArrangedManifestIsInOrder(t *testing.T) {
	forEachArrangement(t, action.ArrangeOrdered, func(t *testing.T, manifest string, oracle *chartgen.ExpectedOrder) {
		place := map[string]int{}
		for i, object := range objects(t, manifest) {
			if _, twice := place[nameOf(object)]; twice {
				t.Fatalf("%s is there twice", nameOf(object))
			}
			place[nameOf(object)] = i
		}
		if len(place) != len(oracle.Names) {
			t.Fatalf("%d objects, want %d", len(place), len(oracle.Names))
		}
		for _, name := range oracle.Names {
			for _, first := range oracle.Before(name) {
				if place[first] >= place[name] {
					t.Fatalf("%s does not come before %s in:\n%s", first, name, manifest)
				}
			}
		}
		checkMarkers(t, manifest)
	})
}

// checkMarkers checks that the comments at the start and end of layers come in pairs, are
// part of documents, and surround all objects of the layer and no others.
func checkMarkers(t *testing.T, manifest string) {
	t.Helper()
	open := ""
	seen := map[string]bool{}
	for _, doc := range render.Split(manifest) {
		if rest, starts := strings.CutPrefix(doc, "## START layer: "); starts {
			title, _, _ := strings.Cut(rest, "\n")
			if open != "" || seen[title] {
				t.Fatalf("%q begins in %q, or again", title, open)
			}
			open, seen[title] = title, true
		}
		for _, object := range objects(t, doc) {
			annotations, _ := object["metadata"].(map[string]any)["annotations"].(map[string]any)
			layer := fmt.Sprint(annotations["helm.sh/layer"])
			if group := annotations["helm.sh/resource-group"]; group != nil {
				layer = fmt.Sprint(group)
			}
			if open != "" && !strings.HasSuffix(open, " "+layer) {
				t.Fatalf("an object of the layer %s is in %q", layer, open)
			}
		}
		if strings.HasSuffix(doc, "\n## END layer: "+open) {
			open = ""
		}
	}
	if open != "" || strings.Count(manifest, "## START") != strings.Count(manifest, "## END") {
		t.Fatalf("%q does not end", open)
	}
}

// TestWavesAreInOrder checks that every object has a higher wave than the objects on which
// it depends.
func TestWavesAreInOrder(t *testing.T) {
	pairs := 0
	forEachArrangement(t, action.ArrangeArgoCD, func(t *testing.T, manifest string, oracle *chartgen.ExpectedOrder) {
		waves := map[string]int{}
		for _, object := range objects(t, manifest) {
			annotations, _ := object["metadata"].(map[string]any)["annotations"].(map[string]any)
			wave, err := strconv.Atoi(fmt.Sprint(annotations["argocd.argoproj.io/sync-wave"]))
			if err != nil || wave < 0 {
				t.Fatalf("%s has the annotations %v", nameOf(object), annotations)
			}
			waves[nameOf(object)] = wave
		}
		for _, name := range oracle.Names {
			for _, first := range oracle.Before(name) {
				if pairs++; waves[first] >= waves[name] {
					t.Fatalf("%s is in wave %d, and %s, which comes first, in %d", name, waves[name], first, waves[first])
				}
			}
		}
		if strings.Contains(manifest, "## START") {
			t.Fatal("there are markers")
		}
	})
	if pairs < 500 {
		t.Errorf("only %d pairs are in order", pairs)
	}
}

func TestArrangeRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	i := installer(configuration(memory()), nil)
	i.Arrange = action.ArrangeOrdered
	if _, err := i.RunWithContext(t.Context(), load(t, chartgen.Random(r).Files(r)), map[string]any{}); err == nil || !strings.Contains(err.Error(), "a dry run") {
		t.Errorf("got %v", err)
	}
}
