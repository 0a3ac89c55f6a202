// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/diagnosis/clusterreader"
	"github.com/ordered-helm/helm/internal/field"
)

// A condition reports a problem if its type contains one of negativeWords and its status
// is True. Otherwise, it reports a problem if its type contains one of positiveWords, and
// its status is False, or Unknown with a message.
var (
	positiveWords = []string{"Ready", "Available", "Established", "Programmed", "Accepted", "Synced", "Healthy", "Succeeded", "Complete",
		"Valid", "Resolved", "Initialized", "Active", "AbleToScale", "Allowed", "Approved", "Reachable", "Installed", "Provisioned"}
	negativeWords = []string{"Stalled", "Fail", "Degraded", "Error", "Pressure", "Invalid", "Conflict", "Unavailable", "NotReady",
		"Unhealthy", "Unreachable", "NonStructural"}
)

// diagnoseByConditions adds findings from the conditions in the status of the subject. It is
// the rule for kinds that are not in the table of rules.
func diagnoseByConditions(_ context.Context, w *subjectDiagnosis, at clusterreader.ObjectRef) {
	w.findings.addConditions(at, w.object.Object)
	w.findings.visit(at, nil)
}

// addConditions adds a finding for each condition of an object that reports a problem.
func (f *findings) addConditions(at clusterreader.ObjectRef, object map[string]any) {
	has := func(words []string, c field.StatusCondition) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(c.Type, word) })
	}
	for _, c := range field.Conditions(object) {
		next := finding{rank: rankSymptom, Cause: Cause{Reason: cmp.Or(c.Reason, c.Type), Message: c.Type + " is " + c.Status}}
		if c.Message != "" {
			next.Message += ": " + c.Message
		}
		switch {
		case has(negativeWords, c):
			if c.Status != "True" {
				continue
			}
		case c.Type == "NamesAccepted" && c.Status == "False":
			next.rank = rankCause
		case !has(positiveWords, c) || c.Status == "True" || c.Message == "" && c.Status != "False":
			continue
		}
		f.add(at, next)
	}
}
