// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

// defect is what is wrong with a revision.
type defect string

const (
	// isRefused has a new object, wasRefused a changed one that the server does not
	// take.
	isRefused  defect = "refused"
	wasRefused defect = "change refused"
	// isNever has something on which others depend, isNeverLast something on which
	// nothing does, that never gets ready.
	isNever     defect = "never ready"
	isNeverLast defect = "never ready at the end"
	// isFailing has a Job that fails and on which something depends.
	isFailing defect = "failing Job"
	// isHanging is isNever with so much time that it has to be interrupted.
	isHanging defect = "hanging"
)

// addDefect makes the charts bad in one way. Where that is a Deployment that never
// gets ready, it returns one that would, and otherwise nil; and it returns the
// ConfigMap that is never created then, if there is one.
func (f *chartGenerator) addDefect(bad defect) (healed, absent *template) {
	root := f.root
	switch bad {
	case wasRefused:
		for _, th := range root.things {
			if th.kind == "ConfigMap" {
				th.facts["data bad key"] = "x"
				return nil, nil
			}
		}
		fallthrough
	case isRefused:
		th := f.newTemplate("Service")
		th.facts["port 70000"] = "high"
		if f.IntN(2) == 0 {
			th = f.newTemplate("ConfigMap")
			th.facts["data bad key"] = "x"
			absent = th
		}
		f.assignLayer(root, th)
		root.things = append(root.things, th)
		return nil, absent
	case isNeverLast:
		th := f.addNeverReady("1s")
		root.things = append(root.things, th)
		return withoutDefect(th), nil
	}
	th := f.addNeverReady("1s")
	switch bad {
	case isFailing:
		th = f.newTemplate("Job")
		th.facts["play"] = "fail"
	case isHanging:
		th.facts["timeout"] = "60s"
	}
	th.layer, th.after = "bad", f.pickSome(root.layers, 2)
	after := f.newTemplate("ConfigMap")
	after.layer, after.after = "", []string{"bad"}
	root.things = append(root.things, th, after)
	return withoutDefect(th), after
}

// addNeverReady is something that never gets ready.
func (f *chartGenerator) addNeverReady(timeout string) *template {
	th := f.newTemplate([]string{"Pod", "Deployment"}[f.IntN(2)])
	th.facts["play"], th.facts["timeout"] = "never", timeout
	return th
}

// withoutDefect returns the thing as it would get ready, if it can.
func withoutDefect(th *template) *template {
	if th.kind != "Deployment" {
		return nil
	}
	healed := th.clone()
	healed.layer, healed.after = "", nil
	delete(healed.facts, "play")
	delete(healed.facts, "timeout")
	return healed
}
