// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint/support"
)

// FindingOf converts a message of Helm to a finding. Helm's messages do not name a rule, so
// the rule is named after the part of the chart that the message is about.
func FindingOf(m support.Message) Finding {
	f := Finding{Rule: "helm/dependencies", Severity: Severity(m.Severity), Message: strings.TrimSpace(m.Err.Error())}
	switch {
	case m.Path == chartutil.ChartfileName:
		f.Rule, f.File = "helm/chartfile", m.Path
	case m.Path == chartutil.ValuesfileName:
		f.Rule, f.File = "helm/values", m.Path
	case m.Path == chartutil.TemplatesDir, strings.HasPrefix(m.Path, chartutil.TemplatesDir+"/"):
		f.Rule, f.File = "helm/templates", strings.TrimSuffix(m.Path, "/")
	case m.Path != "":
		f.File = chartutil.ChartfileName // the path is that of the chart
	}
	return f
}

// HelmMessage converts the finding to a message of Helm.
func (f Finding) HelmMessage() support.Message {
	where := f.File
	if f.Line > 0 {
		where = fmt.Sprintf("%s:%d", where, f.Line)
	}
	return support.NewMessage(int(f.Severity), where, fmt.Errorf("%s (%s)", f.Message, f.Rule))
}
