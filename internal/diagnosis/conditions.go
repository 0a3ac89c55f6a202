// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// condition is an entry of status.conditions.
type condition struct {
	kind, status, reason, message string
}

// conditionsOf returns the entries of status.conditions that can be decoded.
func conditionsOf(obj *unstructured.Unstructured) []condition {
	entries, _, err := unstructured.NestedFieldNoCopy(obj.Object, "status", "conditions")
	if err != nil {
		return nil
	}
	list, _ := entries.([]any)
	var found []condition
	for _, entry := range list {
		values, _ := entry.(map[string]any)
		text := func(key string) string {
			value, _ := values[key].(string)
			return value
		}
		if c := (condition{kind: text("type"), status: text("status"), reason: text("reason"), message: text("message")}); c.kind != "" {
			found = append(found, c)
		}
	}
	return found
}

// positiveWords and bad are words in the types of conditions that should be True, and of
// those that should not.
var (
	positiveWords = []string{"Ready", "Available", "Established", "Programmed", "Accepted", "Synced", "Healthy", "Succeeded", "Complete",
		"Valid", "Resolved", "Initialized", "Active", "AbleToScale", "Allowed", "Approved", "Reachable", "Installed", "Provisioned"}
	negativeWords = []string{"Stalled", "Fail", "Degraded", "Error", "Pressure", "Invalid", "Conflict", "Unavailable", "NotReady",
		"Unhealthy", "Unreachable", "NonStructural"}
)

// diagnoseByConditions explains an object by its conditions.
func (w *walk) diagnoseByConditions(_ context.Context, at ref, obj *unstructured.Unstructured) {
	w.addConditions(at, obj)
	w.visit(at, nil)
}

func (w *walk) addConditions(at ref, obj *unstructured.Unstructured) {
	has := func(words []string, c condition) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(c.kind, word) })
	}
	for _, c := range conditionsOf(obj) {
		f := finding{rank: rankSymptom, Cause: Cause{Reason: cmp.Or(c.reason, c.kind), Message: c.kind + " is " + c.status}}
		if c.message != "" {
			f.Message += ": " + c.message
		}
		switch {
		case has(negativeWords, c):
			if c.status != "True" {
				continue
			}
		case c.kind == "NamesAccepted" && c.status == "False":
			f.rank = rankCause
		case !has(positiveWords, c) || c.status == "True" || c.message == "" && c.status != "False":
			continue
		}
		w.add(at, f)
	}
}
