// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/bench/launch"
	"github.com/ordered-helm/helm/test/cluster"
)

// requestsIn counts the requests of the clients whose user agent begins with agent, for each
// step and verb. Requests about the API itself, without a resource, count as "discovery".
// Requests that the server rejected because of overload count as "refused".
func requestsIn(b *testing.B, c *cluster.Cluster, mark cluster.AuditMark, agent string, steps map[string]launch.Usage) map[string]map[string]int {
	b.Helper()
	counts := map[string]map[string]int{}
	for step := range steps {
		counts[step] = map[string]int{}
	}
	c.AuditAfter(b, mark, func(e cluster.Event) {
		if !strings.HasPrefix(e.UserAgent, agent) || endOfWatch(e) {
			return
		}
		verb := e.Verb
		switch {
		case e.Code == http.StatusTooManyRequests:
			verb = "refused"
		case e.Resource == "":
			verb = "discovery"
		}
		for step, used := range steps {
			if !e.Received.Before(used.Begin) && !e.Received.After(used.End) {
				counts[step][verb]++
			}
		}
	})
	return counts
}

// endOfWatch reports whether an audit event is the end of a watch, whose start is another
// event.
func endOfWatch(e cluster.Event) bool { return e.Verb == "watch" && e.Stage == cluster.StageComplete }

// requestsOf returns the requests of Ordered Helm in a namespace after a mark in the audit
// log, each request once.
func requestsOf(b *testing.B, c *cluster.Cluster, mark cluster.AuditMark, namespace string) []cluster.Event {
	b.Helper()
	var events []cluster.Event
	c.AuditAfter(b, mark, func(e cluster.Event) {
		if e.Namespace == namespace && strings.HasPrefix(e.UserAgent, helmAgent) && !endOfWatch(e) {
			e.Request, e.Response = nil, nil
			events = append(events, e)
		}
	})
	return events
}

// table lists the number of requests by verb and resource, in total and per node of the graph.
func table(requests []cluster.Event, nodes int) string {
	counts := map[string]int{}
	for _, r := range requests {
		counts[r.Verb+" "+r.Resource]++
	}
	kinds := make([]string, 0, len(counts))
	for kind := range counts {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	var text strings.Builder
	fmt.Fprintf(&text, "%-28s %8s %8s\n", "requests", "all", "a node")
	for _, kind := range kinds {
		fmt.Fprintf(&text, "%-28s %8d %8.3f\n", kind, counts[kind], float64(counts[kind])/float64(nodes))
	}
	return text.String()
}
