// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/field"
)

// A condition whose type contains one of positiveWords should be True. A condition whose
// type contains one of negativeWords should not. negativeWords are checked first.
var (
	positiveWords = []string{"Ready", "Available", "Established", "Programmed", "Accepted", "Synced", "Healthy", "Succeeded", "Complete",
		"Valid", "Resolved", "Initialized", "Active", "AbleToScale", "Allowed", "Approved", "Reachable", "Installed", "Provisioned"}
	negativeWords = []string{"Stalled", "Fail", "Degraded", "Error", "Pressure", "Invalid", "Conflict", "Unavailable", "NotReady",
		"Unhealthy", "Unreachable", "NonStructural"}
)

// diagnoseByConditions adds findings for the conditions in the status of an object. It is
// for kinds without rules of their own.
func (w *walk) diagnoseByConditions(_ context.Context, at ref, obj *unstructured.Unstructured) {
	w.addConditions(at, obj)
	w.visit(at, nil)
}

// addConditions adds a finding for each condition of an object that reports a problem.
func (w *walk) addConditions(at ref, obj *unstructured.Unstructured) {
	has := func(words []string, c field.Condition) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(c.Type, word) })
	}
	for _, c := range field.Conditions(obj.Object) {
		f := finding{rank: rankSymptom, Cause: Cause{Reason: cmp.Or(c.Reason, c.Type), Message: c.Type + " is " + c.Status}}
		if c.Message != "" {
			f.Message += ": " + c.Message
		}
		switch {
		case has(negativeWords, c):
			if c.Status != "True" {
				continue
			}
		case c.Type == "NamesAccepted" && c.Status == "False":
			f.rank = rankCause
		case !has(positiveWords, c) || c.Status == "True" || c.Message == "" && c.Status != "False":
			continue
		}
		w.add(at, f)
	}
}
