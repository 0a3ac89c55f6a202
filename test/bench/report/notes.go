// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package report

// The names of the goals that have a note.
const (
	largeMemoryGoal   = "5,000 ordered objects, peak memory of `template --wait=ordered` and `dag`: ours ÷ stock's `template`"
	historyMemoryGoal = "Releases as objects: peak memory of this `history`: ours ÷ stock with Secrets"
	memoryGoal        = "Peak memory: ours ÷ stock, the worst of all workloads"
)

// notes contains explanations why goals are not met, by the name of the goal. The page shows a
// note only if its goal is not met.
var notes = map[string]string{
	largeMemoryGoal: "According to a heap profile at the end of `template --wait=ordered`, 18 MiB are in use (stock: 10), and Go lets a heap " +
		"grow to twice this size before it frees memory. The difference consists of the parsed objects (7.8 MiB, or 1.6 KiB for each), " +
		"which stock parses and drops, and of the plan (2.8 MiB). To drop the objects too, each would have to be parsed twice, which would double the time. " +
		"With `GOGC=50`, the peak is 5 MiB lower, and the CPU time a fifth higher.",
	historyMemoryGoal: "`helm version`, which reads nothing, needs about 49 MiB, a tenth of what stock needs for these revisions. Reading them takes 7 MiB more, " +
		"most of it for the connection.",
	memoryGoal: "Where stock sends many requests at the same time, ours needs between a fifth and a half of its memory. Short commands need " +
		"3 to 4 MiB more, because the binary is 5.5 MiB larger. The worst case is that of the goal before.",
}
