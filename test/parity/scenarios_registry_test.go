// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"runtime"
	"testing"

	"github.com/ordered-helm/helm/test/ociregistry"
	"github.com/ordered-helm/helm/test/signing"
)

// digests is a rule for the digests of pushed charts, whose manifests contain the time.
var digests = pattern("digest of what was packed or pushed", "packages and the manifests of pushed charts hold the time", `sha256:[0-9a-f]{64}`, "DIGEST")

// temporary is a rule for the names of files that are renamed when they are complete.
var temporary = pattern("temporary name", "it is random", `(\.(?:tgz|prov))\d+`, "$1-TEMPORARY")

// handshakes is a rule for the messages about failed TLS handshakes, which depend on timing.
var handshakes = pattern("refused handshake", "whether the refusal or the end of the connection is seen first is a matter of chance",
	`(?:readLoopPeekFailLocked: )?(?:remote error: tls: certificate required|(?:read|write) tcp \S+: (?:read: connection reset by peer|write: broken pipe))`, "REFUSED")

// users contains the passwords of the registries with authentication, by user name.
var users = map[string]string{"anna": "right"}

// registries contains registries: open without authentication, guarded with authentication,
// encrypted with TLS, and mutual with client certificates.
type registries struct{ open, guarded, encrypted, mutual *ociregistry.Registry }

func startRegistries(t *testing.T) registries {
	t.Helper()
	return registries{
		open:      ociregistry.Start(t, ociregistry.Options{}),
		guarded:   ociregistry.Start(t, ociregistry.Options{Users: users}),
		encrypted: ociregistry.Start(t, ociregistry.Options{Users: users, TLS: true}),
		mutual:    ociregistry.Start(t, ociregistry.Options{ClientCertificates: true}),
	}
}

// runLocally runs scenarios that need no cluster.
func runLocally(t *testing.T, table []scenario) {
	t.Helper()
	for i := range table {
		table[i].noCluster = true
	}
	runScenarios(t, table)
}

// TestRegistryCommand compares `helm registry login` and `helm registry logout`.
func TestRegistryCommand(t *testing.T) {
	t.Parallel()
	r := startRegistries(t)
	open, guarded, encrypted, mutual := r.open.Host(), r.guarded.Host(), r.encrypted.Host(), r.mutual.Host()
	ca := " --ca-file " + r.encrypted.CAFile()
	certificate := " --cert-file " + r.mutual.ClientCertFile() + " --key-file " + r.mutual.ClientKeyFile()
	runLocally(t, []scenario{
		{name: "login and logout", steps: []step{
			helm("registry login " + guarded + " -u anna -p right"),
			helm("registry login " + guarded + " --username anna --password wrong"),
			helm("registry login " + guarded + " -u otto -p right"),
			helm("registry logout " + guarded),
			helm("registry logout " + guarded),
			helm("registry logout nowhere.invalid"),
		}},
		{name: "login by standard input", steps: []step{
			helm("registry login " + guarded + " -u anna --password-stdin").withStdin("right\n"),
			helm("registry login " + guarded + " -u anna --password-stdin").withStdin("right\r\n"),
			helm("registry login " + guarded + " -u anna --password-stdin").withStdin("right\n\n"),
			helm("registry login " + guarded + " -u anna --password-stdin").withStdin(""),
			helm("registry login " + guarded + " -u anna -p wrong --password-stdin").withStdin("right"),
		}},
		{name: "login without a terminal", steps: []step{
			helm("registry login " + guarded),
			helm("registry login " + guarded + " -u anna"),
			helm("registry login " + guarded).withStdin("anna\nright\n"),
		}},
		{name: "login that is not asked for", steps: []step{
			helm("registry login " + open + " -u anna -p any"),
		}},
		{name: "login with a scheme or a path", steps: []step{
			helm("registry login oci://" + guarded + " -u anna -p right"),
			helm("registry login http://" + guarded + "/charts -u anna -p right"),
			helm("registry logout oci://" + guarded),
			helm("registry login " + guarded + "/charts/tiny -u anna -p right --debug=false"),
		}},
		{name: "login over plain HTTP", steps: []step{
			helm("registry login " + guarded + " -u anna -p right --plain-http"),
			helm("registry login " + encrypted + " -u anna -p right --plain-http"),
		}},
		{name: "login over TLS", steps: []step{
			helm("registry login " + encrypted + " -u anna -p right"),
			helm("registry login " + encrypted + " -u anna -p right --insecure"),
			helm("registry login " + encrypted + " -u anna -p wrong --insecure"),
			helm("registry login " + encrypted + " -u anna -p right" + ca),
			helm("registry login " + encrypted + " -u anna -p wrong" + ca),
			helm("registry logout " + encrypted),
		}},
		{name: "login with a certificate", steps: []step{
			helm("registry login " + mutual + " -u anna -p right --ca-file " + r.mutual.CAFile()),
			helm("registry login " + mutual + " -u anna -p right --insecure"),
			helm("registry login " + mutual + " -u anna -p right --ca-file " + r.mutual.CAFile() + certificate),
			helm("registry login " + mutual + " -u anna -p right --insecure" + certificate),
			helm("registry login " + mutual + " -u anna -p right --insecure --cert-file " + r.mutual.ClientCertFile()),
		}, rules: []rule{handshakes}},
		{name: "login where nobody listens", steps: []step{
			helm("registry login 127.0.0.1:1 -u anna -p right"),
			helm("registry login 127.0.0.1:1 -u anna -p right --plain-http"),
		}},
		{name: "registry configuration", steps: []step{
			helm("registry login " + guarded + " -u anna -p right --registry-config here.json"),
			helm("registry login " + open + " -u otto -p x --registry-config here.json"),
			helm("registry logout " + guarded + " --registry-config here.json"),
			helm("registry logout " + guarded + " --registry-config other.json"),
			writeFile{"empty.json", ""},
			helm("registry login " + guarded + " -u anna -p right --registry-config empty.json"),
		}},
		{name: "registry words", steps: []step{
			helm("registry login"),
			helm("registry logout"),
			helm("registry login " + guarded + " too many -u anna -p right"),
			helm("registry logout " + guarded + " too many"),
			helm("registry login not/a:host:at:all -u anna -p right"),
			helm("registry login -u anna"),
			helm("registry login --no-such-flag"),
		}},
		{name: "registry completion", steps: []step{
			helm("__complete registry login", ""),
			helm("__complete registry login host", ""),
			helm("__complete registry logout", ""),
			helm("__complete registry logout host", ""),
			helm("__complete push", ""),
			helm("__complete push chart.tgz oci://x", ""),
			helm("__complete verify", ""),
			helm("__complete verify chart.tgz", ""),
		}},
	})
}

// TestLoginInTerminal compares logins that prompt for the password in a terminal.
func TestLoginInTerminal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("no terminal is made on", runtime.GOOS)
	}
	guarded := ociregistry.Start(t, ociregistry.Options{Users: users}).Host()
	runLocally(t, []scenario{
		{name: "login at a terminal", steps: []step{
			dialogue{"registry login " + guarded, []reply{{question: "Username: ", typed: "anna\n"}, {question: "Password: ", typed: "right\n", secret: true}}},
			dialogue{"registry login " + guarded, []reply{{question: "Username: ", typed: " anna \n"}, {question: "Password: ", typed: "wrong\n", secret: true}}},
			dialogue{"registry login " + guarded + " -u anna", []reply{{question: "Password: ", typed: "right\n", secret: true}}},
			dialogue{"registry login " + guarded + " -u anna", []reply{{question: "Password: ", typed: "\n", secret: true}}},
			dialogue{"registry login " + guarded, []reply{{question: "Username: ", typed: "\n"}, {question: "Token: ", typed: "\n", secret: true}}},
			dialogue{"registry login " + guarded, []reply{{question: "Username: ", typed: "\n"}, {question: "Token: ", typed: "token\n", secret: true}}},
			dialogue{"registry login " + guarded, []reply{{question: "Username: ", typed: "\x04"}}},
			dialogue{"registry login " + guarded + " -u anna", []reply{{question: "Password: ", typed: "\x04", secret: true}}},
		}},
	})
}

// TestPush compares the output of `helm push`.
func TestPush(t *testing.T) {
	t.Parallel()
	r := startRegistries(t)
	open, guarded, encrypted, mutual := r.open.Host(), r.guarded.Host(), r.encrypted.Host(), r.mutual.Host()
	remote := func(host string) string { return " oci://" + host + "/@NAMESPACE@" }
	tiny := writeBytes{"tiny-1.0.0.tgz", chartArchive(t, "tiny", "1.0.0")}
	plus := writeBytes{"tiny-1.0.0+build.1.tgz", chartArchive(t, "tiny", "1.0.0+build.1")}
	key := signing.NewKey(t, "anna", "")
	certificate := " --cert-file " + r.mutual.ClientCertFile() + " --key-file " + r.mutual.ClientKeyFile()

	table := []scenario{
		{name: "push and pull back", steps: []step{
			tiny, helm("push tiny-1.0.0.tgz" + remote(open) + " --plain-http"),
			helm("push tiny-1.0.0.tgz" + remote(open)),
			helm("pull oci://" + open + "/@NAMESPACE@/tiny --version 1.0.0 -d back --plain-http"),
			helm("pull oci://" + open + "/@NAMESPACE@/tiny --version 1.0.0 --plain-http"),
			showChecksum("tiny-1.0.0.tgz"),
		}},
		{name: "push a version with metadata", steps: []step{
			plus, helm("push tiny-1.0.0+build.1.tgz" + remote(open) + " --plain-http"),
			removeFile("tiny-1.0.0+build.1.tgz"),
			helm("pull oci://" + open + "/@NAMESPACE@/tiny --version 1.0.0+build.1 --plain-http"),
			helm("pull oci://" + open + "/@NAMESPACE@/tiny:1.0.0+build.1 --plain-http"),
			helm("pull oci://" + open + "/@NAMESPACE@/tiny --plain-http --untar"),
		}},
		{name: "push a provenance file", steps: []step{
			tiny, sign{key, "tiny-1.0.0.tgz"},
			helm("push tiny-1.0.0.tgz" + remote(open) + " --plain-http"),
			removeFile("tiny-1.0.0.tgz"), removeFile("tiny-1.0.0.tgz.prov"),
			helm("pull oci://" + open + "/@NAMESPACE@/tiny --version 1.0.0 --plain-http --verify --keyring " + key.PublicRing),
			helm("pull oci://" + open + "/@NAMESPACE@/tiny --version 1.0.0 --plain-http --prov --untar"),
		}, rules: []rule{signatures}},
		{name: "push with a login", steps: []step{
			tiny, helm("push tiny-1.0.0.tgz" + remote(guarded)),
			helm("push tiny-1.0.0.tgz" + remote(guarded) + " --plain-http"),
			helm("push tiny-1.0.0.tgz" + remote(guarded) + " --plain-http --username anna --password wrong"),
			helm("push tiny-1.0.0.tgz" + remote(guarded) + " --plain-http --username anna --password right"),
			helm("push tiny-1.0.0.tgz" + remote(guarded) + " --username anna --password right"),
			helm("registry login " + guarded + " -u anna -p right"),
			helm("push tiny-1.0.0.tgz" + remote(guarded)),
			helm("push tiny-1.0.0.tgz" + remote(guarded) + " --plain-http"),
			helm("push tiny-1.0.0.tgz" + remote(guarded) + " --plain-http --username anna"),
		}},
		{name: "push over TLS", steps: []step{
			tiny, helm("push tiny-1.0.0.tgz" + remote(encrypted)),
			helm("push tiny-1.0.0.tgz" + remote(encrypted) + " --insecure-skip-tls-verify"),
			helm("push tiny-1.0.0.tgz" + remote(encrypted) + " --insecure-skip-tls-verify --username anna --password right"),
			helm("push tiny-1.0.0.tgz" + remote(encrypted) + " --username anna --password right --ca-file " + r.encrypted.CAFile()),
			helm("push tiny-1.0.0.tgz" + remote(encrypted) + " --plain-http --username anna --password right"),
			helm("push tiny-1.0.0.tgz" + remote(encrypted) + " --ca-file nowhere.crt"),
			helm("push tiny-1.0.0.tgz" + remote(encrypted) + " --ca-file values/first.yaml"),
			helm("push tiny-1.0.0.tgz" + remote(mutual) + " --ca-file " + r.mutual.CAFile()),
			helm("push tiny-1.0.0.tgz" + remote(mutual) + " --ca-file " + r.mutual.CAFile() + certificate),
			helm("push tiny-1.0.0.tgz" + remote(mutual) + " --insecure-skip-tls-verify" + certificate),
			helm("push tiny-1.0.0.tgz" + remote(mutual) + " --cert-file no.crt --key-file no.key"),
			helm("push tiny-1.0.0.tgz" + remote(mutual) + " --cert-file no.crt"),
		}},
		{name: "push what is no chart", steps: []step{
			tiny, helm("push nothing.tgz" + remote(open)),
			helm("push charts/tiny" + remote(open)),
			helm("push values/first.yaml" + remote(open)),
			writeBytes{"broken.tgz", []byte("not an archive")},
			helm("push broken.tgz" + remote(open)),
			writeBytes{"empty.tgz", archive(t)},
			helm("push empty.tgz" + remote(open)),
			writeBytes{"renamed.tgz", chartArchive(t, "tiny", "1.0.0")},
			helm("push renamed.tgz" + remote(open) + " --plain-http"),
		}},
		{name: "push to what is no registry", steps: []step{
			tiny, helm("push tiny-1.0.0.tgz oci://"),
			helm("push tiny-1.0.0.tgz oci://" + open + " --plain-http"),
			helm("push tiny-1.0.0.tgz oci://" + open + "/Upper --plain-http"),
			helm("push tiny-1.0.0.tgz oci://" + open + "/charts:tag --plain-http"),
			helm("push tiny-1.0.0.tgz oci://127.0.0.1:1/charts"),
			helm("push tiny-1.0.0.tgz oci://127.0.0.1:1/charts --plain-http"),
		}},
		{name: "push to what stock does not know", steps: []step{
			tiny, helm("push tiny-1.0.0.tgz ftp://example.com/charts"),
			helm("push tiny-1.0.0.tgz charts"),
		}, differs: []string{
			`- Error: scheme "ftp" not supported`,
			`+ Error: scheme "ftp" not supported: must be one of: http, https, oci; plugins can add others`,
			`- Error: scheme prefix missing from remote (e.g. "oci://")`,
			`+ Error: scheme prefix missing from remote (e.g. "oci://"), and no repository is named "charts": "helm repo add" adds repositories`,
		}},
		{name: "push words", steps: []step{
			helm("push"),
			helm("push tiny-1.0.0.tgz"),
			helm("push a b c"),
			helm("push --no-such-flag"),
		}, differs: []string{
			`- Error: scheme prefix missing from remote (e.g. "oci://")`,
			`+ Error: scheme prefix missing from remote (e.g. "oci://"), and no repository is named "b": "helm repo add" adds repositories`,
		}},
	}
	for i := range table {
		table[i].rules = append(table[i].rules, digests, temporary, handshakes)
	}
	runLocally(t, table)
}
