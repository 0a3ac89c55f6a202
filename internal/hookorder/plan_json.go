// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import "encoding/json"

type (
	jsonPlan struct {
		Event   string       `json:"event"`
		Scope   string       `json:"scope,omitempty"`
		Buckets []jsonBucket `json:"buckets"`
	}
	jsonBucket struct {
		Weight int         `json:"weight"`
		Stages []jsonStage `json:"stages"`
	}
	jsonStage struct {
		Parallel bool         `json:"parallel"`
		Chains   [][]jsonHook `json:"chains"`
	}
	jsonHook struct {
		Kind  string `json:"kind"`
		Name  string `json:"name,omitempty"`
		Chart string `json:"chart"`
		File  string `json:"file"`
	}
)

// MarshalJSON encodes the plan for the commands dag and plan (docs/reference.md, "The
// graph as JSON"). It leaves out the manifests of the hooks.
func (p Plan) MarshalJSON() ([]byte, error) {
	j := jsonPlan{Event: p.Event.String(), Scope: p.Scope}
	for _, b := range p.Buckets {
		bucket := jsonBucket{Weight: b.Weight}
		for _, s := range b.Stages {
			stage := jsonStage{Parallel: s.Parallel}
			for _, c := range s.Chains {
				chain := make([]jsonHook, len(c))
				for i, h := range c {
					chain[i] = jsonHook{Kind: h.Kind, Name: h.Name, Chart: p.Chart(h), File: h.Path}
				}
				stage.Chains = append(stage.Chains, chain)
			}
			bucket.Stages = append(bucket.Stages, stage)
		}
		j.Buckets = append(j.Buckets, bucket)
	}
	return json.Marshal(j)
}
