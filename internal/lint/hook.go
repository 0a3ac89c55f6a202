// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/similar"
)

// checkHook adds findings about the annotations of a hook. If o is a hook, it also sets
// o.resource to nil, because hooks are not part of the plan.
func (i *inspection) checkHook(o *object, annotations map[string]string) {
	hook, _, err := render.CheckHook(o.kind, annotations)
	if !hook {
		return
	}
	o.resource = nil
	if err != nil {
		key := release.HookAnnotation
		if value, ok := errors.AsType[*annotation.ValueError](err); ok {
			key = value.Key
		}
		i.add(invalidHook, i.at(o, key), fmt.Sprintf("%s: %v", o, err))
	}
	i.checkHookValues(o, annotations)
	if _, err := strconv.Atoi(annotations[release.HookWeightAnnotation]); err != nil && annotations[release.HookWeightAnnotation] != "" {
		i.addAs(invalidHook, Warning, i.at(o, release.HookWeightAnnotation), fmt.Sprintf(
			"%s: %s: %q is not an integer: it is treated as 0", o, release.HookWeightAnnotation, annotations[release.HookWeightAnnotation]))
	}
	var ours []string
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if annotation.IsSequencingKey(key) {
			ours = append(ours, key)
		}
	}
	if len(ours) > 0 {
		i.add(hookSequencing, i.at(o, ours[0]), fmt.Sprintf("%s is a hook: %s is ignored", o, strings.Join(ours, ", ")))
	}
}

// hookValues describes an annotation of hooks whose value is a list of words.
type hookValues struct {
	key string
	// known contains the words that Helm accepts, and what says what a word is.
	known []string
	what  string
	// otherwise says what happens if a word is unknown.
	otherwise string
}

func hookAnnotations() []hookValues {
	return []hookValues{
		{release.HookAnnotation, render.HookEvents(), "event", "the object is omitted from the release"},
		{release.HookDeleteAnnotation, []string{
			string(release.HookBeforeHookCreation), string(release.HookSucceeded), string(release.HookFailed),
		}, "policy", "ignored"},
		{release.HookOutputLogAnnotation, []string{
			string(release.HookOutputOnSucceeded), string(release.HookOutputOnFailed),
		}, "policy", "ignored"},
	}
}

// checkHookValues warns about unknown words, which Helm ignores without a message.
func (i *inspection) checkHookValues(o *object, annotations map[string]string) {
	for _, a := range hookAnnotations() {
		value, given := annotations[a.key]
		if !given {
			continue
		}
		for word := range strings.SplitSeq(value, ",") {
			word = strings.ToLower(strings.TrimSpace(word))
			if slices.Contains(a.known, word) {
				continue
			}
			hint := "must be one of: " + strings.Join(a.known, ", ")
			if meant := similar.Nearest(word, a.known); meant != "" {
				hint = fmt.Sprintf("did you mean %q?", meant)
			}
			i.addAs(invalidHook, Warning, i.at(o, a.key), fmt.Sprintf("%s: %s: unknown %s %q (%s): %s", o, a.key, a.what, word, a.otherwise, hint))
		}
	}
}
