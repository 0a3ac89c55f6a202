// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

// randomBad is what is wrong with a revision.
type randomBad string

const (
	// isRefused has a new object, wasRefused a changed one that the server does not
	// take.
	isRefused  randomBad = "refused"
	wasRefused randomBad = "change refused"
	// isNever has something on which others depend, isNeverLast something on which
	// nothing does, that never gets ready.
	isNever     randomBad = "never ready"
	isNeverLast randomBad = "never ready at the end"
	// isFailing has a Job that fails and on which something depends.
	isFailing randomBad = "failing Job"
	// isHanging is isNever with so much time that it has to be interrupted.
	isHanging randomBad = "hanging"
)

// spoil makes the charts bad in one way. Where that is a Deployment that never
// gets ready, it returns one that would, and otherwise nil; and it returns the
// ConfigMap that is never created then, if there is one.
func (f *randomFamily) spoil(bad randomBad) (healed, absent *randomThing) {
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
		th := f.thing("Service")
		th.facts["port 70000"] = "high"
		if f.IntN(2) == 0 {
			th = f.thing("ConfigMap")
			th.facts["data bad key"] = "x"
			absent = th
		}
		f.place(root, th)
		root.things = append(root.things, th)
		return nil, absent
	case isNeverLast:
		th := f.stuck("1s")
		root.things = append(root.things, th)
		return heal(th), nil
	}
	th := f.stuck("1s")
	switch bad {
	case isFailing:
		th = f.thing("Job")
		th.facts["play"] = "fail"
	case isHanging:
		th.facts["timeout"] = "60s"
	}
	th.layer, th.after = "bad", f.some(root.layers, 2)
	after := f.thing("ConfigMap")
	after.layer, after.after = "", []string{"bad"}
	root.things = append(root.things, th, after)
	return heal(th), after
}

// stuck is something that never gets ready.
func (f *randomFamily) stuck(timeout string) *randomThing {
	th := f.thing([]string{"Pod", "Deployment"}[f.IntN(2)])
	th.facts["play"], th.facts["timeout"] = "never", timeout
	return th
}

// heal returns the thing as it would get ready, if it can.
func heal(th *randomThing) *randomThing {
	if th.kind != "Deployment" {
		return nil
	}
	healed := th.clone()
	healed.layer, healed.after = "", nil
	delete(healed.facts, "play")
	delete(healed.facts, "timeout")
	return healed
}
