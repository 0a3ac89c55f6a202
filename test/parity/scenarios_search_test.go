// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestSearchRepo(t *testing.T) {
	t.Parallel()
	added := []step{shopServer, otherServer, helm("repo add shop @SHOP@"), helm("repo add other @OTHER@")}
	runLocal(t, []scenario{
		{name: "all", steps: steps(added, []step{
			helm("search repo"), helm("search repo --versions"), helm("search repo -l --devel"), helm("search repo --devel"), helm("search repo -o json"), helm("search repo -o yaml"), helm("search repo -o xml"),
		})},
		{name: "a word", steps: steps(added, []step{
			helm("search repo shop"), helm("search repo SHOP"), helm("search repo trade"), helm("search repo counter -l"), helm("search repo shop/"), helm("search repo shop/basket"), helm("search repo sells many"),
			helm("search repo", "Sells all"), helm("search repo nothing"), helm("search repo", ""), helm("search repo unfinished"), helm("search repo unfinished --devel"),
		})},
		{name: "an expression", steps: steps(added, []step{
			helm("search repo --regexp ^shop/.*t$"), helm("search repo -r", "^(shop|other)/shop"), helm("search repo -r ("), helm("search repo -r Bask.t"), helm("search repo -r", ""), helm("search repo (")},
		)},
		{name: "versions", steps: steps(added, []step{
			helm("search repo shop --version ^1.0.0"), helm("search repo shop --version ^1.0.0 --versions"), helm("search repo shop --version 1.9.0"), helm("search repo shop --version", ">1.9.0-0"),
			helm("search repo shop --version latest"), helm("search repo shop --version", ""), helm("search repo shop --version 1.0.0 --devel"), helm("search repo shop --version 7"), helm("search repo shop --version >=2.0.0-0 -l"),
		})},
		{name: "nothing found", steps: steps(added, []step{
			helm("search repo nothing -o json"), helm("search repo nothing -o yaml"), helm("search repo nothing --fail-on-no-result"), helm("search repo nothing --fail-on-no-result -o json"), helm("search repo shop --fail-on-no-result"),
		})},
		{name: "narrow columns", steps: steps(added, []step{
			helm("search repo --max-col-width 10"), helm("search repo --max-col-width 0"), helm("search repo --max-col-width 1"), helm("search repo --max-col-width -1"),
		})},
		{name: "a cache that is gone or broken", steps: steps(added, []step{
			helm("search repo --repository-cache nowhere"),
			writeFile{"home/cache/repository/other-index.yaml", "entries: [}"}, helm("search repo shop"), helm("search repo shop -o json"),
			writeFile{"home/cache/repository/other-index.yaml", ""}, helm("search repo shop"),
		})},
		{name: "debug lines", rules: []rule{debugHead}, steps: steps(added, []step{helm("search repo basket --debug"), helm("search repo basket --debug --devel"), helm("search repo basket --debug --version 1")})},
		{name: "no such search", rules: []rule{helpTexts}, steps: []step{helm("search"), helm("search shop"), helm("search repo --nothing"), helm("search hub -o xml")}},
		{name: "a large index", steps: []step{
			shopServer, answerPath{"SHOP", "/index.yaml", text(http.StatusOK, largeIndex(4000))},
			helm("repo add shop @SHOP@"), helm("search repo chart-39 --max-col-width 20"), helm("search repo -r chart-1234$ -o json"),
		}, rules: []rule{largeFiles}},
	}, cachedNames)
}

// largeIndex returns an index with the given number of charts.
func largeIndex(charts int) string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nentries:\n")
	for i := range charts {
		fmt.Fprintf(&b, "  chart-%d:\n  - {apiVersion: v2, name: chart-%d, version: 1.0.%d, description: \"Number %d\", urls: [c.tgz]}\n", i, i, i, i)
	}
	return b.String()
}

// largeFiles is a rule that removes the cached list of chart names, which is long. The index
// from which it was created is compared.
var largeFiles = pattern("cached names", "there are thousands of them, in random order", `chart-\d+\n`, "")

// hubAnswer is the response of a chart hub to a search.
const hubAnswer = `{"data":[
 {"id":"example/shop","artifactHub":{"packageUrl":"https://artifacthub.example/packages/shop"},
  "attributes":{"name":"shop","repo":{"name":"example","url":"https://charts.example/stable"},"description":"Sells all kinds of things over a counter that is far longer than fifty characters"},
  "relationships":{"latestChartVersion":{"data":{"version":"1.2.3","app_version":"4.5.6","created":"2020-02-03T04:05:06Z"}}}},
 {"id":"other/basket","attributes":{"repo":{"name":"other","url":"https://charts.example/other"},"description":"Holds"},
  "relationships":{"latestChartVersion":{"data":{"version":"0.1.0"}}}}]}`

func TestSearchHub(t *testing.T) {
	t.Parallel()
	const path = "/api/chartsvc/v1/charts/search"
	hub := func(handler func(*sandbox) http.HandlerFunc) []step {
		return []step{serveRepository{name: "HUB", folder: "repos/none"}, answerPath{"HUB", path, handler}}
	}
	found := hub(text(http.StatusOK, hubAnswer))
	runLocal(t, []scenario{
		{name: "found", steps: steps(found, []step{
			helm("search hub shop --endpoint @HUB@"), showRequests("HUB"), helm("search hub --endpoint @HUB@/"), helm("search hub two words --endpoint @HUB@ --list-repo-url"), helm("search hub", "a&b=c d/é", "--endpoint", "@HUB@"), showRequests("HUB"),
			helm("search hub shop --endpoint @HUB@ -o json"), helm("search hub shop --endpoint @HUB@ -o yaml --list-repo-url"), helm("search hub shop --endpoint @HUB@ --max-col-width 10"), helm("search hub shop --endpoint @HUB@ --max-col-width 0"),
			helm("search hub shop --endpoint @HUB@ --fail-on-no-result"),
		})},
		{name: "nothing found", steps: steps(hub(text(http.StatusOK, `{"data":[]}`)), []step{
			helm("search hub shop --endpoint @HUB@"), helm("search hub shop --endpoint @HUB@ -o json"), helm("search hub shop --endpoint @HUB@ -o yaml"), helm("search hub shop --endpoint @HUB@ --fail-on-no-result"), helm("search hub shop --endpoint @HUB@ --fail-on-no-result -o json"),
		})},
		{name: "no answer", rules: []rule{debugHead, stackTraces}, steps: steps(hub(text(http.StatusTeapot, "")), []step{
			helm("search hub shop --endpoint @HUB@"), helm("search hub shop --endpoint @HUB@/elsewhere"), helm("search hub shop --endpoint http://127.0.0.1:1"), helm("search hub shop --endpoint nowhere"), helm("search hub shop --endpoint", ""), helm("search hub shop --endpoint https://%zz"), helm("search hub shop --endpoint ftp://127.0.0.1"),
		})},
		{name: "an answer with odd fields", steps: steps(hub(text(http.StatusOK, `{"data":[{"id":"a","attributes":{"description":5,"keywords":"one"}},{"id":"b"}]}`)), []step{helm("search hub --endpoint @HUB@")})},
	})
}
