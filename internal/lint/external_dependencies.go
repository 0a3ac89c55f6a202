// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/externalneed"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/ordererror"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// addExternalError adds a finding about an invalid external dependency.
func (i *chartInspection) addExternalError(e *ordererror.ExternalError) {
	text := fmt.Sprintf("%s: %q: %v", e.Key, e.Value, e.Err)
	if e.Resource != "" {
		text = e.Resource + ": " + text
	}
	at := i.reasonPosition(sequencer.Reason{File: e.File, Resource: e.Resource, Key: e.Key})
	i.add(rule.InvalidExternalDependency, at, i.withSourcePaths(text))
}

// checkExternal adds findings about the external dependencies of the chart and its resources.
func (i *chartInspection) checkExternal(p *sequencer.Plan) {
	for _, s := range p.Steps {
		for n, e := range s.External {
			if n == 0 && s.Timeout > defaultTimeout {
				r := e.Reasons[0]
				r.Key = annotation.ExternalTimeout
				i.add(rule.ExternalTimeoutLong, i.reasonPosition(r), fmt.Sprintf(
					"%s is longer than %s, the default of --timeout: an ordered installation needs a longer --timeout", s.Timeout, defaultTimeout))
			}
			for _, r := range e.Reasons {
				i.checkPortability(e.Need, r)
			}
		}
	}
}

// checkPortability adds a finding if the chart itself, and not its values or its user, says that it depends on
// a release, or on an object in a certain namespace.
func (i *chartInspection) checkPortability(need externalneed.Need, r sequencer.Reason) {
	what := fmt.Sprintf("%s/%s in the namespace %s", need.KindAndGroup(), need.Name, need.Namespace)
	switch {
	case need.Release && need.Namespace == "":
		what = "the release " + need.Name
	case need.Release:
		what = fmt.Sprintf("the release %s in the namespace %s", need.Name, need.Namespace)
	case need.Namespace == "":
		return
	}
	subject := "the chart"
	switch {
	case i.orderFiles.IsGiven(r.File):
		return
	case i.isOrderFile(r.File):
		subject = strings.TrimSuffix(r.Key, ".external")
	case r.Resource != "" && !i.isWritten(r.Value):
		return
	case r.Resource != "":
		subject = r.Resource
	}
	i.add(rule.FixedExternalDependency, i.reasonPosition(r), fmt.Sprintf("%s depends on %s: the chart can be installed only where this exists", subject, what))
}

// isWritten reports whether the text stands in a template or script of the chart or of a subchart, and so does not depend on
// values.
func (i *chartInspection) isWritten(text string) bool {
	for _, f := range i.filesByChartFile {
		for _, file := range f.Own {
			if (strings.HasPrefix(file.Name, "templates/") || strings.HasPrefix(file.Name, "ext/")) && bytes.Contains(file.Data, []byte(text)) {
				return true
			}
		}
	}
	return false
}

// reasonPosition returns the position of a declaration.
func (i *chartInspection) reasonPosition(r sequencer.Reason) source.Position {
	if r.Resource == "" || i.isOrderFile(r.File) {
		return i.declaredAt(r.File, r.Key)
	}
	at := slices.IndexFunc(i.objects, func(o *renderedObject) bool { return o.file == r.File && o.String() == r.Resource })
	if at < 0 {
		return i.filePosition(r.File)
	}
	return i.position(i.objects[at], r.Key)
}
