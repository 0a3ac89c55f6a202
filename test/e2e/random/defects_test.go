// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

// defect is an error in a revision, which makes some operations fail.
type defect string

const (
	// rejectedByServer is a new object that the server rejects, changeRejectedByServer a
	// change that it rejects.
	rejectedByServer       defect = "refused"
	changeRejectedByServer defect = "change refused"
	// neverReadyNode is an object that never becomes ready and has dependents, neverReadyLeaf
	// one without dependents.
	neverReadyNode defect = "never ready"
	neverReadyLeaf defect = "never ready at the end"
	// failingJob is a Job that fails and has dependents.
	failingJob defect = "failing Job"
	// hangingNode is like neverReadyNode, but with such a long timeout that the operation has
	// to be interrupted.
	hangingNode defect = "hanging"
)

// addDefect adds a defect to the charts. If the defect is a Deployment that never becomes
// ready, healed is the same Deployment without the defect; otherwise it is nil. absent is a
// ConfigMap that is not created because of the defect, or nil.
func (f *chartGenerator) addDefect(bad defect) (healed, absent *template) {
	root := f.root
	switch bad {
	case changeRejectedByServer:
		for _, th := range root.things {
			if th.kind == "ConfigMap" {
				th.fields["data bad key"] = "x"
				return nil, nil
			}
		}
		fallthrough
	case rejectedByServer:
		th := f.newTemplate("Service")
		th.fields["port 70000"] = "high"
		if f.IntN(2) == 0 {
			th = f.newTemplate("ConfigMap")
			th.fields["data bad key"] = "x"
			absent = th
		}
		f.assignLayer(root, th)
		root.things = append(root.things, th)
		return nil, absent
	case neverReadyLeaf:
		th := f.addNeverReady("1s")
		root.things = append(root.things, th)
		return withoutDefect(th), nil
	}
	th := f.addNeverReady("1s")
	switch bad {
	case failingJob:
		th = f.newTemplate("Job")
		th.fields["play"] = "fail"
	case hangingNode:
		th.fields["timeout"] = "60s"
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
	th.fields["play"], th.fields["timeout"] = "never", timeout
	return th
}

// withoutDefect returns a copy of the template that becomes ready, or nil if its kind cannot
// be changed in this way.
func withoutDefect(th *template) *template {
	if th.kind != "Deployment" {
		return nil
	}
	healed := th.clone()
	healed.layer, healed.after = "", nil
	delete(healed.fields, "play")
	delete(healed.fields, "timeout")
	return healed
}
