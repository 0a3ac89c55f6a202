// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaselist

import (
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
)

// readSummary reads the name, info, version and namespace of a release, and the metadata of its
// chart, from its JSON text. ok is false if the text is invalid or unusual. If ok is true,
// encoding/json would decode the text without an error, and with the same values. Therefore,
// all other fields are checked, but not decoded.
func readSummary(text []byte) (rel *release.Release, ok bool) {
	s := &scanner{text: text}
	rel = new(release.Release)
	return rel, s.object(releaseFields(s, rel)) && s.atEnd()
}

// releaseFields returns the fields of the type release.Release.
func releaseFields(s *scanner, rel *release.Release) []field {
	return []field{
		{"name", s.into(&rel.Name)},
		{"info", s.into(&rel.Info)},
		{"chart", func() bool {
			if s.null() {
				return true
			}
			rel.Chart = new(chart.Chart)
			return s.object(chartFields(s, rel.Chart))
		}},
		{"config", s.mapOrNull},
		{"manifest", s.stringOrNull},
		{"hooks", s.into(new([]*release.Hook))},
		{"version", s.into(&rel.Version)},
		{"namespace", s.into(&rel.Namespace)},
	}
}

// chartFields returns the fields of the type chart.Chart.
func chartFields(s *scanner, c *chart.Chart) []field {
	file := fileFields(s)
	files := func() bool {
		return s.null() || s.array(func() bool { return s.null() || s.object(file) })
	}
	return []field{
		{"metadata", s.into(&c.Metadata)},
		{"lock", s.into(new(*chart.Lock))},
		{"templates", files},
		{"values", s.mapOrNull},
		{"schema", s.bytesOrNull},
		{"files", files},
	}
}

// fileFields returns the fields of the type chart.File.
func fileFields(s *scanner) []field {
	return []field{{"name", s.stringOrNull}, {"data", s.bytesOrNull}}
}
