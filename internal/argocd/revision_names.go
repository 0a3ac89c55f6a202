// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// ProbeRevision is the number of a revision that occurs in a name only if the name is built
// from the revision.
const ProbeRevision = 739_391_827

// WarnRevisionNames calls warn with a message about each Job whose name is built from the
// revision of the release. resources must be rendered for ProbeRevision.
//
// Rendered manifests always have the same revision, so Argo CD would not run such a Job again,
// and could not change it either, because Jobs are immutable.
func WarnRevisionNames(resources []sequencer.Resource, warn func(string)) {
	for _, r := range resources {
		name := field.String(field.Map(r.Object, "metadata"), "name")
		if field.String(r.Object, "kind") != "Job" || !strings.Contains(name, strconv.Itoa(ProbeRevision)) {
			continue
		}
		warn(fmt.Sprintf("%s: Job/%s: its name contains the revision of the release, which is 1 in every rendered manifest, "+
			"so Argo CD cannot run the Job again: build the name from what the Job runs, such as a digest of its image and command: "+
			`{{ printf "%%s %%s" .Values.image .Values.command | sha256sum | trunc 8 }}`,
			r.File, strings.ReplaceAll(name, strconv.Itoa(ProbeRevision), "1")))
	}
}
