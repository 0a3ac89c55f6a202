// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// mostInEvent is how many resources an event names.
const mostInEvent = 6

// summary names resources, as in "Secret/db, Deployment/db".
func summary(resources []*sequencer.PlannedResource) string {
	names := make([]string, len(resources))
	for i, res := range resources {
		names[i] = res.ID.String()
	}
	return enumerate(names, mostInEvent)
}

// summaryOf names objects in the same way.
func summaryOf(list kube.ResourceList) string {
	names := make([]string, len(list))
	for i, info := range list {
		names[i] = info.Object.GetObjectKind().GroupVersionKind().Kind + "/" + info.Name
	}
	return enumerate(names, mostInEvent)
}

// extent says how much a plan is, as in "18 resources in 10 nodes".
func extent(p *sequencer.Plan) string {
	resources := 0
	for _, n := range p.Nodes {
		resources += len(n.Resources)
	}
	return fmt.Sprintf("%s in %s", counted(resources, "resource"), counted(len(p.Nodes), "node"))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
