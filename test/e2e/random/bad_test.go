// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

// defect is an error in a revision.
type defect string

const (
	// isRefused is a new object that the server rejects, wasRefused a changed one.
	isRefused  defect = "refused"
	wasRefused defect = "change refused"
	// isNever is an object with dependents that never becomes ready, isNeverLast one
	// without dependents.
	isNever     defect = "never ready"
	isNeverLast defect = "never ready at the end"
	// isFailing is a Job with dependents that fails.
	isFailing defect = "failing Job"
	// isHanging is isNever with such a long timeout that it has to be interrupted.
	isHanging defect = "hanging"
)

// addDefect adds one defect to the charts. If it is a Deployment that never becomes ready,
// healed is one that would; otherwise healed is nil. absent is the ConfigMap that is then
// never created, if there is one.
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

// addNeverReady adds an object that never becomes ready.
func (f *chartGenerator) addNeverReady(timeout string) *template {
	th := f.newTemplate([]string{"Pod", "Deployment"}[f.IntN(2)])
	th.facts["play"], th.facts["timeout"] = "never", timeout
	return th
}

// withoutDefect returns the template in a form that becomes ready, if there is one.
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
