// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/testutil/plans"
)

// TestPlannedNodes checks what each node waits for, including external dependencies of the node, of its chart and of the
// charts that contain it.
func TestPlannedNodes(t *testing.T) {
	t.Parallel()
	shop := plans.WithDependencies(plans.V3("shop", plans.V3("db"), plans.V3("web")), plans.Dependency("db"), plans.Dependency("web", "db"))
	shop.External, shop.ExternalKey = []string{"Secret/license"}, "depends-on.helm.sh/external"
	db, web := shop.Subcharts[0], shop.Subcharts[1]
	db.External, db.ExternalKey = []string{"Secret/password"}, "depends-on.helm.sh/external"
	web.External, web.ExternalKey = []string{"release:dns"}, "depends-on.helm.sh/external"
	plan := plans.Build(t, shop, plans.Resources(
		"shop/db ConfigMap/a layer=first", "shop/db ConfigMap/b depends-on.helm.sh/external=Secret/b", "shop/web ConfigMap/c"))
	got := make([]string, 0, len(plan.Nodes))
	for _, n := range PlannedNodes(plan) {
		got = append(got, fmt.Sprintf("%s, %d resources, external %q, after %q and all of %q", n.ID, n.Resources, n.External, n.After, n.AfterCharts))
	}
	want := []string{
		`shop/db:first, 1 resources, external [], after ["shop/db:(external dependencies)" "shop:(external dependencies)"] and all of []`,
		`shop/db:(ConfigMap/b), 1 resources, external [], after ["shop/db:(external dependencies)" "shop:(external dependencies)" "shop/db:(ConfigMap/b):(external dependencies)"] and all of []`,
		`shop/web, 1 resources, external [], after ["shop/web:(external dependencies)" "shop:(external dependencies)"] and all of ["shop/db"]`,
		`shop:(external dependencies), 0 resources, external ["Secret/license"], after [] and all of []`,
		`shop/db:(external dependencies), 0 resources, external ["Secret/password"], after ["shop:(external dependencies)"] and all of []`,
		`shop/db:(ConfigMap/b):(external dependencies), 0 resources, external ["Secret/b"], after ["shop/db:(external dependencies)" "shop:(external dependencies)"] and all of []`,
		`shop/web:(external dependencies), 0 resources, external ["release:dns"], after ["shop:(external dependencies)"] and all of ["shop/db"]`,
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}
