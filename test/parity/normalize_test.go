// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"regexp"
	"slices"
	"strings"
)

// rule excludes something from the comparison.
type rule struct {
	name string
	// why is the reason why it cannot be the same in both worlds.
	why   string
	apply func(string) string
}

func pattern(name, why, expression, replacement string) rule {
	re := regexp.MustCompile(expression)
	replace := func(s string) string { return re.ReplaceAllString(s, replacement) }
	if !spansLines(expression) {
		return rule{name: name, why: why, apply: func(s string) string { return lineByLine(s, replace) }}
	}
	return rule{name: name, why: why, apply: replace}
}

// spansLines reports whether an expression can match more than one line.
func spansLines(expression string) bool {
	inside := strings.TrimSuffix(expression, `\n`)
	return strings.Contains(inside, `\n`) || strings.Contains(inside, `\s`) || strings.Contains(inside, "(?s)") || strings.Contains(inside, "[^")
}

// lineByLine applies replace to each line separately, because regexp is much slower in long
// texts.
func lineByLine(s string, replace func(string) string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(replace(line))
	}
	return b.String()
}

// thisYear matches years from 2025 on. The times in testdata are older and are compared.
const thisYear = `20(?:2[5-9]|[3-9]\d)`

// usualRules apply to every scenario.
var usualRules = []rule{
	pattern("time in RFC 3339", "the clock goes on", thisYear+`-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`, "TIME"),
	pattern("time as Go prints it", "the clock goes on", thisYear+`-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [+-]\d{4} \w+(?: m=\S+)?`, "TIME"),
	pattern("time in ANSI C's format", "the clock goes on", `(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d `+thisYear, "TIME"),
	pattern("padding of a time", "Go leaves out the trailing zeros of a time, which makes its column narrower", `\b(UPDATED|TIME) *\t`, "$1\t"),
	pattern("folder of fetched charts", "its name is drawn, stock's has the number of the process", `tmpcharts-\d+`, "tmpcharts"),
	pattern("generated name", "it ends in the time in seconds", `-1[7-9]\d{8}\b`, "-SECONDS"),
	pattern("UUID", "the API server draws it", `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "UUID"),
	pattern("commit of Ordered Helm", "its version says what it is", `\+ordered\.\S*?\.g([0-9a-f]{7})\b`, "+g$1"),
	pattern("version of Ordered Helm", "it says what it is", `\+ordered\.[0-9A-Za-z.-]+`, ""),
	pattern("klog's line head", "it holds the time and the process", `(?m)^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ `, "$1 "),
	pattern("answer cut short", "client-go says so only if the deadline falls between an answer's head and its end",
		`(?m)^E request\.go:\d+\] "Unexpected error when reading response body" .*\n`, ""),
	pattern("watch cut short", "client-go says so only if it is reading when the operation ends",
		`(?m)^I reflector\.go:\d+\] "Warning: watch ended with error" .*context canceled.*\n`, ""),
	pattern("deadline while throttled", "client-go says where it was when the deadline fell",
		`client rate limiter Wait returned an error: (?:rate: Wait\(n=1\) would exceed context deadline|context deadline exceeded)`, "context deadline exceeded"),
	pattern("alert before an answer", "net/http says so only if the server's alert comes before it reads an answer",
		`readLoopPeekFailLocked: `, ""),
	pattern("what is still waited for", "stock does not say it when it is interrupted", `(?m)^Waiting until .* Press Ctrl-C again to exit immediately\.\n`, ""),
	pattern("who may hold a release", "stock does not say it", `(?m)(is in progress|has no deployed releases): revision \d+ of release \S+ is \S+, and its record names no lock holder: .*$`, "$1"),
	pattern("how to take over a release", "stock cannot", `(?m) --takeover=force$`, ""),
	pattern("what is taken over", "stock does not say it", `(?m)^WARNING: revision \d+ of release \S+ is \S+, but .*; taking over the release\n`, ""),
	pattern("slog's line head", "it holds the time", `(?m)^`+thisYear+`/\d\d/\d\d \d\d:\d\d:\d\d `, ""),
}

// undoing matches the cause that is printed before --atomic undoes something. It is removed
// if no difference is expected; TestDifferences covers it.
var undoing = pattern("cause of undoing", "stock does not say it before it undoes",
	`(?m)^WARNING: .* because of --atomic: .*\n`, "")

// hookReasons matches what is printed about failed hooks below Helm's own message. It is
// removed unless a scenario keeps it; TestDifferences contains one that does.
var hookReasons = pattern("why a hook failed", "stock does not say it",
	`(?m)^  (?:Job|Pod)/\S+ \(.*\) (?:failed|had not completed|did not complete|was deleted).*\n(?:^    .*\n)*(?:^hooks skipped \(blocked by this failure\): .*\n)?`, "")

// Rules for the scenarios that need them.
var (
	debugHead = pattern("head of a debug line", "it names a line of the source",
		`(?m)^\w+\.go:\d+: TIME \[debug\] `, "[debug] ")
	stackTraces = pattern("stack trace", "it names lines of the source; ours has none",
		`(?m)^(?:\S+/\S+|main|runtime)\.\S+\n\t\S+:\d+\n`, "")
	columnPadding = pattern("column padding", "columns are as wide as their widest value",
		` *\t`, "\t")
	ages = pattern("age", "how old an object is depends on the speed of the machine",
		`\s+(?:\d+m)?\d+s\b`, " AGE")
	clusterIPs = pattern("cluster IP", "the API server draws it",
		`\b10\.\d+\.\d+\.\d+\b`, "CLUSTER-IP")
	runsOfSpaces = pattern("run of spaces", "columns are as wide as their widest value",
		` {2,}`, "  ")
	resourceVersions = pattern("resource version", "the API server counts all changes in one",
		`(resourceVersion\W+)\d+`, "${1}N")
	debugLines = pattern("debug lines of the client", "what an upgrade and a rollback log is worded anew",
		`(?m)^\[debug\] (?:.*\n\n?)`, "")
	podNames = pattern("pod name", "the controllers draw its end",
		`-[a-z0-9]{8,10}-[a-z0-9]{5}\b`, "-POD")
	logHead = pattern("head of a line of the log", "it names a line of the source",
		`(?m)^\w+\.go:\d+: `, "")
	sortedLines = rule{
		name:  "order of lines",
		why:   "stock goes over a map in random order",
		apply: sortLines,
	}
)

// sortedNotes sorts the notes of a stored release.
var sortedNotes = rule{
	name: "order of notes",
	why:  "stock goes over the charts of a release in random order",
	apply: func(s string) string {
		return storedNotes.ReplaceAllStringFunc(s, func(line string) string {
			notes := strings.Split(storedNotes.FindStringSubmatch(line)[1], `\n\n`)
			for i := range notes {
				notes[i] = strings.Trim(strings.TrimSpace(notes[i]), `\n`)
			}
			slices.Sort(notes)
			return strings.Join(notes, "\n")
		})
	},
}

var storedNotes = regexp.MustCompile(`"notes": "(.*)"`)

// storedHooks sorts the hooks of a stored release.
var storedHooks = rule{
	name:  "order of stored hooks",
	why:   "stock stores the tests that it left out before the others",
	apply: sortStoredHooks,
}

func sortStoredHooks(s string) string {
	before, list, found := strings.Cut(s, "\"hooks\": [\n")
	if !found {
		return s
	}
	indent := before[strings.LastIndexByte(before, '\n')+1:]
	list, after, _ := strings.Cut(list, "\n"+indent+"]")
	end := "\n" + indent + "  }"
	hooks := strings.Split(strings.TrimSuffix(list, end), end+",\n")
	slices.Sort(hooks)
	return before + "\"hooks\": [\n" + strings.Join(hooks, end+",\n") + end + "\n" + indent + "]" + sortStoredHooks(after)
}

func sortLines(s string) string {
	lines := strings.Split(s, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// normalize removes what differs between the worlds, then applies the usual rules, and then
// the scenario's own rules.
func (w *world) normalize(s string) string {
	for _, p := range w.places {
		s = strings.ReplaceAll(s, p.value, strings.Trim(p.placeholder, "@"))
	}
	s = strings.ReplaceAll(s, w.namespace, "NAMESPACE")
	for _, r := range slices.Concat(usualRules, w.rules) {
		s = r.apply(s)
	}
	return s
}

// helpTexts matches the help texts of commands.
var helpTexts = pattern("help text", "it is written anew; TestCommands compares what it says",
	`(?s)stdout:\n.*?\nUsage:\n.*?\nstderr:\n`, "stdout:\nHELP\nstderr:\n")
