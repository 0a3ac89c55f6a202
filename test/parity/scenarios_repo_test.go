// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/chartserver"
)

// cachedNames is a rule that sorts the cached names of a repository's charts.
var cachedNames = rule{
	name: "order of cached names",
	why:  "Helm's package goes over a map in random order",
	apply: func(s string) string {
		return namesFile.ReplaceAllStringFunc(s, func(block string) string {
			head, names, _ := strings.Cut(block, "\n")
			lines := strings.Split(strings.TrimSuffix(names, "\n"), "\n")
			slices.Sort(lines)
			return head + "\n" + strings.Join(lines, "\n") + "\n"
		})
	},
}

var namesFile = regexp.MustCompile(`file [^\n]+charts\.txt \S+\n(?:\S+\n)*`)

// localPort is a rule for the port of the client in messages about connections.
var localPort = pattern("local port", "the system chooses it", `127\.0\.0\.1:\d+->`, "127.0.0.1:PORT->")

// runLocal runs scenarios that need no cluster, with rules for all of them.
func runLocal(t *testing.T, table []scenario, rules ...rule) {
	t.Helper()
	for i := range table {
		table[i].noCluster = true
		table[i].rules = slices.Concat(table[i].rules, rules)
	}
	runScenarios(t, table)
}

var (
	shopServer  = serveRepository{name: "SHOP", folder: "repos/shop"}
	otherServer = serveRepository{name: "OTHER", folder: "repos/other"}
	closedShop  = serveRepository{name: "SHOP", folder: "repos/shop", options: chartserver.Options{Username: "ann", Password: "secret"}}
	secureShop  = serveRepository{name: "SHOP", folder: "repos/shop", options: chartserver.Options{TLS: true}}
	clientShop  = serveRepository{name: "SHOP", folder: "repos/shop", options: chartserver.Options{ClientCertificates: true}}
)

func TestRepoAdd(t *testing.T) {
	t.Parallel()
	runLocal(t, []scenario{
		{name: "and list", steps: []step{
			shopServer, otherServer,
			helm("repo add shop @SHOP@"), showRequests("SHOP"),
			helm("repo add other @OTHER@/"), showRequests("OTHER"),
			helm("repo list"), helm("repo ls"), helm("repo list -o json"), helm("repo list -o yaml"), helm("repo list --output table"),
		}},
		{name: "twice", steps: []step{
			shopServer, otherServer,
			helm("repo add shop @SHOP@"), helm("repo add shop @SHOP@"), helm("repo add shop @SHOP@ --no-update"), showRequests("SHOP"),
			helm("repo add shop @OTHER@"), helm("repo add shop @SHOP@ --pass-credentials"), helm("repo list"),
			helm("repo add shop @SHOP@ --force-update"), showRequests("SHOP"),
			helm("repo add shop @OTHER@ --force-update"), showRequests("OTHER"), helm("repo list"),
		}},
		{name: "with a wrong name", steps: []step{
			shopServer, otherServer,
			helm("repo add a/b @SHOP@"), helm("repo add", "", "@SHOP@"), helm("repo add", "a b", "@SHOP@"), helm("repo add ü @SHOP@"), helm("repo list"),
		}},
		{name: "without arguments, or too many", steps: []step{
			helm("repo"), helm("repo nothing"), helm("repo add"), helm("repo add shop"), helm("repo add a b c"), helm("repo add shop http://127.0.0.1:1 --timeout soon"), helm("repo list x"),
			helm("repo remove"), helm("repo index"), helm("repo index a b"), helm("repo add --no-such-flag"),
		}, rules: []rule{helpTexts}},
		{name: "where nothing is", steps: []step{
			helm("repo add shop http://127.0.0.1:1"), helm("repo add shop nonsense"), helm("repo add shop ftp://127.0.0.1/x"), helm("repo add shop ://"), helm("repo add shop http://%zz"),
			helm("repo add shop", ""), helm("repo add shop", "http://a b/"), helm("repo add shop oci://127.0.0.1:1/charts"), helm("repo add shop http:///charts"), helm("repo add shop file:///charts"),
		}},
		{name: "where no repository is", steps: []step{
			serveRepository{name: "NONE", folder: "repos/none"},
			helm("repo add none @NONE@"), helm("repo add none @NONE@/deeper?x=1"), showRequests("NONE"), helm("repo list"),
		}},
		{name: "with a password", rules: []rule{sortedLines}, steps: []step{
			closedShop,
			helm("repo add shop @SHOP@"), showRequests("SHOP"),
			helm("repo add shop @SHOP@ --username ann --password guess"), showRequests("SHOP"),
			helm("repo add shop @SHOP@ --username ann --password secret"), showRequests("SHOP"),
			helm("repo add again @SHOP@ --username ann --password-stdin").withStdin("secret\n"),
			helm("repo add windows @SHOP@ --username ann --password-stdin").withStdin("secret\r\n"),
			helm("repo add lines @SHOP@ --username ann --password-stdin").withStdin("secret\n\n"),
			helm("repo add both @SHOP@ --username ann --password secret --password-stdin").withStdin("guess"),
			helm("repo add nobody @SHOP@ --password secret"),
			helm("repo add empty @SHOP@ --username ann --password-stdin"),
			helm("repo list"), helm("repo update"), showRequests("SHOP"),
		}},
		{name: "with a password that would be asked for", steps: []step{closedShop, helm("repo add shop @SHOP@ --username ann"), showRequests("SHOP")}},
		{name: "with a password for another host", steps: []step{
			shopServer, otherServer,
			answerPath{"SHOP", "/index.yaml", redirect("@OTHER@/index.yaml")},
			helm("repo add shop @SHOP@ --username ann --password secret"), showRequests("SHOP"), showRequests("OTHER"),
			helm("repo add all @SHOP@ --username ann --password secret --pass-credentials"), showRequests("SHOP"), showRequests("OTHER"),
			answerPath{"SHOP", "/index.yaml", redirect("@SHOP@/index.yaml")},
			helm("repo add round @SHOP@"),
		}},
		{name: "with TLS", steps: []step{
			secureShop, serveRepository{name: "OTHER", folder: "repos/other", options: chartserver.Options{TLS: true}},
			helm("repo add shop @SHOP@"), helm("repo add shop @SHOP@ --ca-file @OTHER-CA@"), helm("repo add shop @SHOP@ --ca-file nowhere.pem"), helm("repo add shop @SHOP@ --ca-file repos/none/README.md"),
			showRequests("SHOP"),
			helm("repo add shop @SHOP@ --ca-file @SHOP-CA@"), showRequests("SHOP"),
			helm("repo add careless @SHOP@ --insecure-skip-tls-verify"), showRequests("SHOP"),
			helm("repo update shop"), helm("repo update careless"),
		}},
		{name: "with a client certificate", rules: []rule{localPort}, steps: []step{
			clientShop,
			helm("repo add shop @SHOP@ --ca-file @SHOP-CA@"),
			helm("repo add shop @SHOP@ --ca-file @SHOP-CA@ --cert-file @SHOP-CERT@ --key-file @SHOP-KEY@"), showRequests("SHOP"),
			helm("repo add half @SHOP@ --ca-file @SHOP-CA@ --cert-file @SHOP-CERT@"),
			helm("repo add half @SHOP@ --ca-file @SHOP-CA@ --key-file @SHOP-KEY@"),
			helm("repo add wrong @SHOP@ --ca-file @SHOP-CA@ --cert-file @SHOP-CERT@ --key-file @SHOP-CERT@"),
			helm("repo add wrong @SHOP@ --ca-file @SHOP-CA@ --cert-file nowhere --key-file nothing"),
			helm("repo list -o json"),
		}},
		{name: "that is gone", steps: []step{
			helm("repo add stable https://kubernetes-charts.storage.googleapis.com"),
			helm("repo add incubator https://kubernetes-charts-incubator.storage.googleapis.com/"),
			helm("repo add stable http://127.0.0.1:1//kubernetes-charts.storage.googleapis.com --allow-deprecated-repos"),
			shopServer, helm("repo add shop @SHOP@ --allow-deprecated-repos"),
		}},
		{name: "in files of one's own", env: []string{"HELM_REPOSITORY_CONFIG=some/where/repos", "HELM_REPOSITORY_CACHE=some/cache"}, steps: []step{
			shopServer, helm("repo add shop @SHOP@"), helm("repo list"), helm("search repo shop"),
			helm("repo add shop @SHOP@ --repository-config else/where.yaml --repository-cache else"), helm("repo list --repository-config else/where.yaml"),
			helm("repo add dot @SHOP@ --repository-config else/.hidden"), helm("repo update --repository-cache else"),
			helm("repo remove shop"),
		}},
		{name: "in files that cannot be", steps: []step{
			shopServer, writeFile{"file", "x"}, writeFile{"bad.yaml", "not: [yaml"}, writeFile{"odd.yaml", "repositories: 5"},
			helm("repo add shop @SHOP@ --repository-config file/repos.yaml"), helm("repo add shop @SHOP@ --repository-config bad.yaml"), helm("repo add shop @SHOP@ --repository-config odd.yaml"),
			helm("repo add shop @SHOP@ --repository-config repos"),
			helm("repo list --repository-config bad.yaml"), helm("repo list --repository-config bad.yaml -o json"), helm("repo list --repository-config odd.yaml"),
			helm("repo update --repository-config bad.yaml"), helm("repo remove shop --repository-config bad.yaml"), helm("search repo --repository-config bad.yaml"),
			helm("repo add shop @SHOP@ --repository-cache file"),
		}},
		{name: "that does not answer", steps: []step{
			shopServer, answerPath{"SHOP", "/index.yaml", silence},
			helm("repo add shop @SHOP@ --timeout 300ms"),
		}},
	}, cachedNames)
}

// badIndexes contains invalid indexes of repositories.
var badIndexes = []struct{ name, text string }{
	{"empty", ""},
	{"a page", "<html><body>Log in first</body></html>"},
	{"no YAML", "entries: [}"},
	{"broken JSON", `{"apiVersion": "v1", `},
	{"JSON", `{"apiVersion": "v1", "entries": {"shop": [{"name": "shop", "version": "1.0.0", "urls": []}]}}`},
	{"JSON with a field of its own", `{"apiVersion": "v1", "own": true, "entries": {}}`},
	{"without apiVersion", "entries: {}"},
	{"of another apiVersion", "apiVersion: v9\nentries: {}"},
	{"with a field of its own", "apiVersion: v1\nown: true\nentries: {}"},
	{"with an entry's field of its own", "apiVersion: v1\nentries:\n  shop:\n  - name: shop\n    version: 1.0.0\n    own: true\n"},
	{"twice the same field", "apiVersion: v1\napiVersion: v1\nentries: {}"},
	{"with charts that are none", "apiVersion: v1\nentries:\n  a:\n  -\n  - name: a\n    version: latest\n  - name: a\n    version: 1.0.0\n  - version: 1.0.0\n  - name: ../a\n    version: 1.0.0\n"},
	{"with a list of entries", "apiVersion: v1\nentries: [a, b]"},
	{"without entries", "apiVersion: v1\n"},
	{"an alias that grows", "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n"},
}

func TestRepoBadIndex(t *testing.T) {
	t.Parallel()
	var table []scenario
	for _, bad := range badIndexes {
		table = append(table, scenario{name: bad.name, steps: []step{
			shopServer, answerPath{"SHOP", "/index.yaml", text(http.StatusOK, bad.text)},
			helm("repo add shop @SHOP@"), helm("repo list"), helm("search repo"),
		}})
	}
	for _, status := range []int{http.StatusNotFound, http.StatusForbidden, http.StatusInternalServerError, http.StatusNoContent} {
		table = append(table, scenario{name: http.StatusText(status), steps: []step{
			shopServer, answerPath{"SHOP", "/index.yaml", text(status, "")}, helm("repo add shop @SHOP@"),
		}})
	}
	runLocal(t, table, cachedNames)
}

func TestRepoUpdate(t *testing.T) {
	t.Parallel()
	added := []step{shopServer, otherServer, helm("repo add shop @SHOP@"), helm("repo add other @OTHER@"), showRequests("SHOP"), showRequests("OTHER")}
	runLocal(t, []scenario{
		{name: "without repositories", steps: []step{
			helm("repo update"), helm("repo up shop"), helm("repo list"), helm("repo list -o json"), helm("repo list -o yaml"), helm("repo remove shop"), helm("search repo"), helm("search repo shop"),
			writeFile{"empty.yaml", "apiVersion: \"\"\nrepositories: []\n"}, helm("repo update --repository-config empty.yaml"), helm("repo list --repository-config empty.yaml"), helm("repo rm x --repository-config empty.yaml"),
		}},
		{name: "one that is named", steps: steps(added, []step{
			helm("repo update other"), showRequests("SHOP"), showRequests("OTHER"), helm("repo up shop other"), helm("repo update shop shop"),
			helm("repo update nothing"), helm("repo update shop nothing"),
		}), rules: []rule{sortedLines}},
		{name: "all", rules: []rule{sortedLines}, steps: steps(added, []step{helm("repo update"), showRequests("SHOP"), showRequests("OTHER"), helm("repo update --timeout 20s --fail-on-repo-update-fail")})},
		{name: "changed", steps: []step{
			shopServer, helm("repo add shop @SHOP@"), helm("search repo shop/shop"),
			writeFile{"repos/shop/index.yaml", "apiVersion: v1\nentries:\n  shop:\n  - name: shop\n    version: 9.0.0\n"},
			helm("search repo shop/shop"), helm("repo update"), helm("search repo shop/shop"), helm("search repo basket"),
		}},
		{name: "broken since", rules: []rule{sortedLines}, steps: steps(added, []step{
			answerPath{"SHOP", "/index.yaml", text(http.StatusOK, "<html>")},
			helm("repo update"), helm("repo update shop"), helm("repo update --fail-on-repo-update-fail"), helm("search repo shop/shop"),
			answerPath{"OTHER", "/index.yaml", text(http.StatusBadGateway, "")},
			helm("repo update shop --fail-on-repo-update-fail"), helm("repo update other --fail-on-repo-update-fail"),
		})},
		{name: "slow since", steps: []step{
			shopServer, helm("repo add shop @SHOP@"), answerPath{"SHOP", "/index.yaml", silence},
			helm("repo update --timeout 300ms"), helm("repo update --timeout 300ms --fail-on-repo-update-fail"),
		}},
		{name: "of a scheme that nobody knows", steps: []step{
			writeFile{"repositories.yaml", "repositories:\n- name: odd\n  url: odd://example\n"},
			helm("repo update --repository-config repositories.yaml"), helm("repo list --repository-config repositories.yaml"),
		}},
		{name: "with a certificate that is gone", steps: []step{
			writeFile{"repositories.yaml", "repositories:\n- name: odd\n  url: https://127.0.0.1:1\n  caFile: nowhere.pem\n"},
			helm("repo update --repository-config repositories.yaml"),
		}},
	}, cachedNames)
}

func TestRepoRemove(t *testing.T) {
	t.Parallel()
	added := []step{shopServer, helm("repo add a @SHOP@"), helm("repo add b @SHOP@"), helm("repo add c @SHOP@")}
	runLocal(t, []scenario{
		{name: "one", steps: steps(added, []step{helm("repo remove b"), helm("repo list"), helm("repo remove b"), helm("search repo basket")})},
		{name: "several", steps: steps(added, []step{helm("repo rm a c"), helm("repo list")})},
		{name: "all", steps: steps(added, []step{helm("repo remove a b c"), helm("repo list"), helm("repo remove a")})},
		{name: "one that is not there among others", steps: steps(added, []step{helm("repo remove a nothing b"), helm("repo list")})},
		{name: "one twice", steps: steps(added, []step{helm("repo remove a a"), helm("repo list")})},
		{name: "one whose cache is gone", steps: steps(added, []step{helm("repo remove a --repository-cache nowhere"), helm("repo list")})},
	}, cachedNames)
}
