// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"regexp"
	"slices"
	"strings"
)

// rule removes or replaces text that cannot be the same for both programs before their results
// are compared.
type rule struct {
	name string
	// why is the reason why the text cannot be the same.
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

// spansLines reports whether a regular expression can match text that spans lines.
func spansLines(expression string) bool {
	inside := strings.TrimSuffix(expression, `\n`)
	return strings.Contains(inside, `\n`) || strings.Contains(inside, `\s`) || strings.Contains(inside, "(?s)") || strings.Contains(inside, "[^")
}

// lineByLine applies replace to each line separately, because package regexp is much slower
// for long texts.
func lineByLine(s string, replace func(string) string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(replace(line))
	}
	return b.String()
}

// thisYear is an expression that matches years from 2025 on. Times in testdata are older, and
// are compared.
const thisYear = `20(?:2[5-9]|[3-9]\d)`

// defaultRules apply to every scenario.
var defaultRules = []rule{
	pattern("time in RFC 3339", "it is the current time", thisYear+`-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`, "TIME"),
	pattern("time as Go prints it", "it is the current time", thisYear+`-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [+-]\d{4} \w+(?: m=\S+)?`, "TIME"),
	pattern("time in ANSI C's format", "it is the current time", `(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d `+thisYear, "TIME"),
	pattern("padding of a time", "Go leaves out the trailing zeros of a time, which makes its column narrower", `\b(UPDATED|TIME) *\t`, "$1\t"),
	pattern("folder of fetched charts", "its name is random; that of stock Helm contains the process ID", `tmpcharts-\d+`, "tmpcharts"),
	pattern("generated name", "it ends in the time in seconds", `-1[7-9]\d{8}\b`, "-SECONDS"),
	pattern("UUID", "the API server chooses it at random", `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "UUID"),
	pattern("commit of Ordered Helm", "the version contains the commit", `\+ordered\.\S*?\.g([0-9a-f]{7})\b`, "+g$1"),
	pattern("version of Ordered Helm", "stock Helm has another version", `\+ordered\.[0-9A-Za-z.-]+`, ""),
	pattern("klog's line head", "it contains the time and the process ID", `(?m)^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ `, "$1 "),
	pattern("answer cut short", "client-go says so only if the deadline falls between an answer's head and its end",
		`(?m)^E request\.go:\d+\] "Unexpected error when reading response body" .*\n`, ""),
	pattern("watch cut short", "client-go says so only if it is reading when the operation ends",
		`(?m)^I reflector\.go:\d+\] "Warning: watch ended with error" .*context canceled.*\n`, ""),
	pattern("deadline while throttled", "client-go says where it was when the deadline fell",
		`client rate limiter Wait returned an error: (?:rate: Wait\(n=1\) would exceed context deadline|context deadline exceeded)`, "context deadline exceeded"),
	pattern("alert before an answer", "net/http says so only if the server's alert comes before it reads an answer",
		`readLoopPeekFailLocked: `, ""),
	pattern("objects that are waited for", "stock Helm does not print it when it is interrupted", `(?m)^Waiting until .* Press Ctrl-C again to exit immediately\.\n`, ""),
	pattern("possible lock holder", "stock Helm does not print it", `(?m)(is in progress|has no deployed releases): revision \d+ of release \S+ is \S+, and its record names no lock holder: .*$`, "$1"),
	pattern("how to take over a release", "stock Helm has no such flag", `(?m) --takeover=force$`, ""),
	pattern("takeover of a release", "stock Helm does not print it", `(?m)^WARNING: revision \d+ of release \S+ is \S+, but .*; taking over the release\n`, ""),
	pattern("slog's line head", "it contains the time", `(?m)^`+thisYear+`/\d\d/\d\d \d\d:\d\d:\d\d `, ""),
}

// atomicCause removes the cause of a failure that Ordered Helm prints before --atomic rolls
// back or uninstalls. It applies to scenarios without expected differences; TestDifferences
// covers the rest.
var atomicCause = pattern("cause before --atomic rolls back", "stock Helm does not print it",
	`(?m)^WARNING: --atomic: .*\n`, "")

// hookReasons removes the causes that Ordered Helm prints below stock Helm's message about
// failed hooks. It applies unless scenario.hookReasons is set, as in TestDifferences.
var hookReasons = pattern("why a hook failed", "stock Helm does not print it",
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
	clusterIPs = pattern("cluster IP", "the API server chooses it at random",
		`\b10\.\d+\.\d+\.\d+\b`, "CLUSTER-IP")
	runsOfSpaces = pattern("run of spaces", "columns are as wide as their widest value",
		` {2,}`, "  ")
	resourceVersions = pattern("resource version", "the API server counts all changes in one",
		`(resourceVersion\W+)\d+`, "${1}N")
	debugLines = pattern("debug lines of the client", "upgrades and rollbacks of Ordered Helm log other messages",
		`(?m)^\[debug\] (?:.*\n\n?)`, "")
	podNames = pattern("pod name", "controllers choose its suffix at random",
		`-[a-z0-9]{8,10}-[a-z0-9]{5}\b`, "-POD")
	logHead = pattern("head of a line of the log", "it names a line of the source",
		`(?m)^\w+\.go:\d+: `, "")
	sortedLines = rule{
		name:  "order of lines",
		why:   "stock Helm iterates over a map in random order",
		apply: sortLines,
	}
)

// sortedNotes is a rule that sorts the notes of the charts in a stored release.
var sortedNotes = rule{
	name: "order of notes",
	why:  "stock Helm iterates over the charts of a release in random order",
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

// storedHooks is a rule that sorts the hooks in a stored release.
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

// normalize replaces the paths and the namespace of the sandbox in a text, and applies the
// default rules and the rules of the scenario.
func (w *sandbox) normalize(s string) string {
	for _, p := range w.places {
		s = strings.ReplaceAll(s, p.value, strings.Trim(p.placeholder, "@"))
	}
	s = strings.ReplaceAll(s, w.namespace, "NAMESPACE")
	for _, r := range slices.Concat(defaultRules, w.rules) {
		s = r.apply(s)
	}
	return s
}

// helpTexts is a rule that removes the help texts of commands.
var helpTexts = pattern("help text", "the help texts of Ordered Helm are different; TestCommands compares what it says",
	`(?s)stdout:\n.*?\nUsage:\n.*?\nstderr:\n`, "stdout:\nHELP\nstderr:\n")
