// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartscripts

import (
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
)

// owners contains the paths of charts in the tree of charts, by the path with which the sources of their
// documents begin. The two differ for charts below one with an alias that does not declare them as its
// dependencies: Helm uses the name of that chart instead of its alias. Below a chart with two aliases, Helm
// renders such a chart once for both, with the values of the last one, which is the owner therefore.
type owners map[string]string

// read adds ch, which has the path at, and its subcharts in the order in which Helm renders them. It returns the
// charts with scripts among them.
func (o owners) read(ch *chart.Chart, at string, sourcePath func(*chart.Chart, string) string) ([]*Chart, error) {
	var charts []*Chart
	for _, sub := range ch.Dependencies() {
		below, err := o.read(sub, path.Join(at, "charts", sub.Name()), sourcePath)
		if err != nil {
			return nil, err
		}
		charts = append(charts, below...)
	}
	if _, exists := o[at]; !exists { // documents that scripts add have this path
		o[at] = at
	}
	o[sourcePath(ch, at)] = at
	own, err := readChart(ch, at)
	if own != nil {
		charts = append(charts, own)
	}
	return charts, err
}

// Owns reports whether a document with this source belongs to the chart or to one of its subcharts.
func (c *Chart) Owns(source string) bool {
	for end := strings.LastIndexByte(source, '/'); end >= 0; end = strings.LastIndexByte(source, '/') {
		source = source[:end]
		if owner, exists := c.owners[source]; exists {
			return owner == c.Path || strings.HasPrefix(owner, c.Path+"/charts/")
		}
	}
	return false
}

// AddedSource returns the source of documents that a file of the chart adds.
func (c *Chart) AddedSource(file string) string { return path.Join(c.Path, file) }
