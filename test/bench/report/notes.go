// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package report

// The names of the goals that have a note.
const (
	stackGoal       = "kube-prometheus-stack, install, without its two Jobs: ours ÷ stock"
	shortMemoryGoal = "Peak memory of short commands: what ours needs more than stock ÷ what its binary is larger"
	largeMemoryGoal = "5,000 ordered objects, peak memory of `template --wait=ordered` and `dag`: ours ÷ stock's `template`"
	memoryGoal      = "Peak memory: ours ÷ stock, the worst of all workloads"
)

// notes contains explanations why goals are not met, by the name of the goal. The page shows a
// note only if its goal is not met.
var notes = map[string]string{
	stackGoal: "Two hook Jobs, one before and one after all other objects, take one second each on this cluster: " +
		"2.1 s with both tools. Without them, the ratio ours ÷ stock is a third. According to the server's audit log, " +
		"one run consists of: 0.43 s until the release is stored (including 0.12 s for rendering and 0.05 s for encoding the " +
		"release), 0.06 s for five hooks that run sequentially, 1.03 s for the first Job, 0.05 s for deleting these hooks, 0.45 s for " +
		"creating 78 objects, during which both cores are busy, 0.04 s for five hooks, 1.03 s for the second Job, 0.03 s for deleting " +
		"them, and 0.07 s for storing the release. Only the remaining 0.2 s could be improved.",
	memoryGoal: "Where stock sends many requests at the same time, ours needs between a fifth and a half of its memory. Short commands need " +
		"5 to 8 MiB more, because the binary is 4.5 MiB larger and the used parts of it stay in memory: `template` needs " +
		"11.7 MiB of heap (stock: 11.4), and 42 MiB are mapped from the binary (stock: 34). In `template` and `dag` of charts " +
		"that declare an order, each parsed object is also kept for the plan, with about 3 KiB for each of 5,000 ConfigMaps.",
}
