// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/chartloader"
)

// sharing returns a chart with 200 subcharts, each of which asks for the same 20 libraries. If everywhere
// is set, each of them contains the libraries, as directories or as archives; otherwise only the outermost
// chart does.
func sharing(tb testing.TB, everywhere, archives bool) tree {
	tb.Helper()
	libraries, declared := tree{}, "data:\n  libraries:\n"
	for i := range 20 {
		name := fmt.Sprintf("lib%d", i)
		lib := tree{"Chart.yaml": libraryYAML(name, "1.2.0"), "templates/_a.tpl": strings.Repeat(`{{ define "`+name+`" }}text{{ end }}`+"\n", 20)}
		if archives {
			libraries["library/"+name+"-1.2.0.tgz"] = lib.archive(tb, name)
		} else {
			maps.Copy(libraries, lib.below("library/"+name+"/"))
		}
		declared += "  - {name: " + name + ", version: ^1." + fmt.Sprint(i%3) + "}\n"
	}
	all := tree{"Chart.yaml": chartV3YAML("shop", declared)}.and(libraries)
	for i := range 200 {
		sub := tree{"Chart.yaml": chartV3YAML(fmt.Sprintf("sub%d", i), declared)}
		if everywhere {
			sub = sub.and(libraries)
		}
		maps.Copy(all, sub.below(fmt.Sprintf("charts/sub%d/", i)))
	}
	return all
}

// BenchmarkLibraries loads 201 charts that share 20 libraries. The goal is less than a second.
func BenchmarkLibraries(b *testing.B) {
	for _, c := range []struct {
		name                 string
		everywhere, archives bool
	}{{"directories in one chart", false, false}, {"archives in one chart", false, true}, {"directories in every chart", true, false}, {"archives in every chart", true, true}} {
		b.Run(c.name, func(b *testing.B) {
			files := sharing(b, c.everywhere, c.archives).buffered()
			for b.Loop() {
				ch, err := chartloader.LoadFiles(files)
				if err != nil || len(ch.Dependencies()) != 220 {
					b.Fatal(err)
				}
			}
		})
	}
}
