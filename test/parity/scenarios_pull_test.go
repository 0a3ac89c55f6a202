// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/ociregistry"
	"github.com/ordered-helm/helm/test/signing"
)

// signatures is a rule that replaces signatures, which contain the time.
var signatures = pattern("signature", "it contains the time", `(?s)-----BEGIN PGP SIGNATURE-----\n.*?-----END PGP SIGNATURE-----`, "SIGNATURE")

// sign is a step that signs a packaged chart in the sandbox.
type sign struct {
	key  *signing.Key
	path string
}

func (s sign) run(_ context.Context, w *sandbox) (string, error) {
	_, err := s.key.Sign(filepath.Join(w.dir, s.path))
	return "", err
}

// shelf is a registry that contains charts.
type shelf struct {
	*ociregistry.Registry
	key *signing.Key
	// digest is the digest of charts/tiny:1.0.0, other that of charts/tiny:1.1.0.
	digest, other string
}

// ref returns a reference to a chart in the registry, followed by the flag that is needed for
// it.
func (s shelf) ref(rest string) string {
	return "oci://" + s.Host() + "/charts/" + rest + " --plain-http"
}

func fillShelf(t *testing.T) shelf {
	t.Helper()
	s := shelf{Registry: ociregistry.Start(t, ociregistry.Options{}), key: signing.NewKey(t, "anna", "")}
	first := chartArchive(t, "tiny", "1.0.0")
	s.digest = upload(t, s.Registry, "charts/tiny:1.0.0", first, signed(t, sign{s.key, "tiny-1.0.0.tgz"}, first))
	s.other = upload(t, s.Registry, "charts/tiny:1.1.0", chartArchive(t, "tiny", "1.1.0"), nil)
	upload(t, s.Registry, "charts/tiny:1.2.0+build.1", chartArchive(t, "tiny", "1.2.0+build.1"), nil)
	upload(t, s.Registry, "charts/tiny:2.0.0-beta.1", chartArchive(t, "tiny", "2.0.0-beta.1"), nil)
	upload(t, s.Registry, "charts/only-beta:0.1.0-beta", chartArchive(t, "only-beta", "0.1.0-beta"), nil)
	return s
}

// TestPullFromRegistry compares `helm pull` from OCI registries.
func TestPullFromRegistry(t *testing.T) {
	t.Parallel()
	s := fillShelf(t)
	none := "sha256:" + strings.Repeat("0", 64)
	runLocally(t, []scenario{
		{name: "pull by version", steps: []step{
			helm("pull " + s.ref("tiny")), showChecksum("tiny-1.2.0+build.1.tgz"),
			helm("pull " + s.ref("tiny --version 1.0.0")), showChecksum("tiny-1.0.0.tgz"),
			helm("fetch " + s.ref("tiny --version ^1.0 -d .")),
			helm("pull " + s.ref("tiny --version <1.2 --untar --untardir two")),
			helm("pull " + s.ref("tiny --version 3")),
			helm("pull " + s.ref("tiny --version 9.9.9")),
			helm("pull " + s.ref("tiny --version not,a,version")),
		}},
		{name: "pull by tag", steps: []step{
			helm("pull " + s.ref("tiny:1.1.0")),
			helm("pull " + s.ref("tiny:1.1.0 --version 1.1.0")),
			helm("pull " + s.ref("tiny:1.1.0 --version 1.0.0")),
			helm("pull " + s.ref("tiny:9.9.9")),
			helm("pull " + s.ref("tiny:latest")),
			helm("pull " + s.ref("tiny:1.2.0+build.1")),
		}},
		{name: "pull by digest", steps: []step{
			helm("pull " + s.ref("tiny@"+s.digest)),
			helm("pull " + s.ref("tiny:1.0.0@"+s.digest+" -d .")),
			helm("pull " + s.ref("tiny:1.1.0@"+s.digest+" -d .")),
			helm("pull " + s.ref("tiny@"+s.digest+" --version 1.0.0")),
			helm("pull " + s.ref("tiny@"+s.other+" --version 1.0.0")),
			helm("pull " + s.ref("tiny@"+none)),
			helm("pull " + s.ref("tiny:1.0.0@"+none)),
			helm("pull " + s.ref("tiny@sha256:abc")),
			helm("pull " + s.ref("tiny@md5:"+strings.Repeat("0", 32))),
			helm("pull " + s.ref("tiny@"+s.digest+" --untar")),
			showTree("tiny"),
		}},
		{name: "pull development versions", steps: []step{
			helm("pull " + s.ref("tiny --devel")),
			helm("pull " + s.ref("tiny --devel --version ^1 --untar")),
			helm("pull " + s.ref("only-beta")),
			helm("pull " + s.ref("only-beta --devel")),
			helm("pull " + s.ref("tiny --devel --debug")),
		}, rules: []rule{debugHead, stackTraces, requests}},
		{name: "pull into a folder", steps: []step{
			makeDir("there"),
			helm("pull " + s.ref("tiny:1.0.0 -d there")),
			helm("pull " + s.ref("tiny:1.0.0 --destination not-there")),
			helm("pull " + s.ref("tiny:1.0.0 -d values/first.yaml")),
			helm("pull " + s.ref("tiny:1.0.0 --untar -d there --untardir deep/er")),
			helm("pull " + s.ref("tiny:1.0.0 --untar -d nowhere")),
			helm("pull " + s.ref("tiny:1.0.0 --untar --untardir @DIR@/absolute -d there")),
			showTree("there"), showTree("nowhere"), showTree("absolute"),
		}, rules: []rule{temporary}, differs: []string{
			`- drwxr-xr-x there/deep/er/tiny:1.0.0`,
			`- drwxr-xr-x nowhere/tiny:1.0.0`,
			`- drwxr-xr-x absolute/tiny:1.0.0`,
		}},
		{name: "pull over what is there", steps: []step{
			helm("pull " + s.ref("tiny:1.0.0 --untar")),
			helm("pull " + s.ref("tiny:1.0.0 --untar")),
			helm("pull " + s.ref("tiny --version 1.0.0 --untar")),
			helm("pull " + s.ref("tiny --version 1.0.0 --untar")),
			writeFile{"tiny-1.0.0.tgz", "mine"},
			helm("pull " + s.ref("tiny --version 1.0.0")),
			showChecksum("tiny-1.0.0.tgz"),
			showTree("tiny:1.0.0"), showTree("tiny"),
		}, differs: []string{
			`- Error: failed to untar: a file or directory with the name tiny:1.0.0 already exists`,
			`+ Error: failed to untar: a file or directory with the name tiny already exists`,
			`- drwxr-xr-x tiny:1.0.0`,
			`+ no folder tiny:1.0.0`,
		}},
		{name: "pull and verify", steps: []step{
			helm("pull " + s.ref("tiny:1.0.0 --prov")),
			helm("pull " + s.ref("tiny:1.1.0 --prov")),
			helm("pull " + s.ref("tiny:1.0.0 --verify --keyring "+s.key.PublicRing)),
			helm("pull " + s.ref("tiny:1.0.0 --verify --untar --untardir checked --keyring "+s.key.PublicRing)),
			helm("pull " + s.ref("tiny:1.1.0 --verify --untar --untardir unsigned --keyring "+s.key.PublicRing)),
			helm("pull " + s.ref("tiny:1.0.0 --verify --keyring "+signing.NewKey(t, "otto", "").PublicRing+" --untar --untardir unknown")),
			helm("pull " + s.ref("tiny:1.0.0 --verify")),
			showTree("unsigned"), showTree("unknown"),
		}, rules: []rule{signatures}},
		{name: "pull several", steps: []step{
			helm("pull oci://" + s.Host() + "/charts/tiny:1.0.0 oci://" + s.Host() + "/charts/only-beta:0.1.0-beta --plain-http"),
			helm("pull oci://" + s.Host() + "/charts/none:1.0.0 " + s.ref("tiny:1.1.0")),
			helm("pull " + s.ref("tiny:1.1.0") + " oci://" + s.Host() + "/charts/none:1.0.0"),
		}},
		{name: "pull what is not there", steps: []step{
			helm("pull"),
			helm("pull " + s.ref("none")),
			helm("pull " + s.ref("none:1.0.0")),
			helm("pull oci://" + s.Host() + " --plain-http"),
			helm("pull oci:// --plain-http"),
			helm("pull oci://127.0.0.1:1/charts/tiny"),
			helm("pull oci://127.0.0.1:1/charts/tiny:1.0.0 --plain-http"),
			helm("pull tiny"),
			helm("pull example/tiny"),
			helm("pull ftp://127.0.0.1:1/tiny-1.0.0.tgz"),
			helm("pull http://127.0.0.1:1/tiny-1.0.0.tgz"),
			helm("pull file://charts/tiny"),
			helm("pull tiny --repo oci://" + s.Host() + "/charts"),
			helm("pull tiny --repo http://127.0.0.1:1"),
			helm("pull ://"),
			helm("pull --no-such-flag"),
		}},
		{name: "template from a registry", steps: []step{
			helm("template web " + s.ref("tiny")),
			helm("template web " + s.ref("tiny --version ~1.0")),
			helm("template web " + s.ref("tiny:1.0.0")),
			helm("template web " + s.ref("tiny@"+s.digest)),
			helm("template web " + s.ref("tiny:1.0.0@"+s.digest)),
			helm("template web " + s.ref("tiny:1.1.0@"+s.digest)),
			helm("template web " + s.ref("tiny@"+s.other+" --version 1.0.0")),
			helm("template web " + s.ref("tiny --devel")),
			helm("template web " + s.ref("tiny:1.0.0 --verify --keyring "+s.key.PublicRing)),
			helm("template web " + s.ref("tiny:1.1.0 --verify --keyring "+s.key.PublicRing)),
			helm("template web " + s.ref("none")),
		}, rules: []rule{signatures}},
	})
}

// requests is a rule that removes the debug messages about requests to a registry.
var requests = pattern("requests to a registry", "the headers are printed in random order", `(?m)^level=DEBUG .*\n`, "")

// TestPullWithCredentials compares `helm pull` from registries that require authentication.
func TestPullWithCredentials(t *testing.T) {
	t.Parallel()
	r := startRegistries(t)
	guarded, encrypted, mutual := r.guarded.Host(), r.encrypted.Host(), r.mutual.Host()
	put := func(host, flags string) step {
		return stockHelm("push tiny-1.0.0.tgz oci://" + host + "/@NAMESPACE@ " + flags)
	}
	const login = "--username anna --password right "
	pull := func(host, flags string) step {
		return helm("pull oci://" + host + "/@NAMESPACE@/tiny:1.0.0 " + flags)
	}
	certificate := " --cert-file " + r.mutual.ClientCertFile() + " --key-file " + r.mutual.ClientKeyFile()
	table := []scenario{
		{name: "pull with a password", steps: []step{
			put(guarded, login+"--plain-http"), removeFile("tiny-1.0.0.tgz"),
			pull(guarded, "--plain-http"),
			pull(guarded, "--plain-http --username anna"),
			pull(guarded, "--plain-http --username anna --password wrong"),
			pull(guarded, "--plain-http "+login),
			pull(guarded, "--plain-http --pass-credentials "+login),
			pull(guarded, login),
			helm("pull oci://" + guarded + "/@NAMESPACE@/tiny --plain-http " + login),
			helm("pull oci://" + guarded + "/@NAMESPACE@/tiny --plain-http"),
			helm("template web oci://" + guarded + "/@NAMESPACE@/tiny:1.0.0 --plain-http " + login),
			helm("template web oci://" + guarded + "/@NAMESPACE@/tiny:1.0.0 --plain-http"),
		}},
		{name: "pull with a login", steps: []step{
			put(guarded, login+"--plain-http"), removeFile("tiny-1.0.0.tgz"),
			helm("registry login " + guarded + " " + login),
			pull(guarded, ""),
			pull(guarded, "--plain-http"),
			pull(guarded, "--plain-http --registry-config other.json"),
			helm("registry logout " + guarded),
			pull(guarded, "--plain-http"),
		}},
		{name: "pull over TLS", steps: []step{
			put(encrypted, login+"--insecure-skip-tls-verify"), removeFile("tiny-1.0.0.tgz"),
			pull(encrypted, login),
			pull(encrypted, login+"--plain-http"),
			pull(encrypted, login+"--insecure-skip-tls-verify"),
			pull(encrypted, login+"--ca-file "+r.encrypted.CAFile()),
			pull(encrypted, "--ca-file "+r.encrypted.CAFile()),
			pull(encrypted, login+"--ca-file "+r.mutual.CAFile()),
			pull(encrypted, login+"--ca-file nowhere.crt"),
			pull(encrypted, login+"--ca-file values/first.yaml"),
			helm("registry login " + encrypted + " --insecure " + login),
			pull(encrypted, "--insecure-skip-tls-verify"),
			pull(encrypted, ""),
		}},
		{name: "pull with a certificate", steps: []step{
			put(mutual, "--insecure-skip-tls-verify"+certificate), removeFile("tiny-1.0.0.tgz"),
			pull(mutual, "--insecure-skip-tls-verify"+certificate),
			pull(mutual, "--ca-file "+r.mutual.CAFile()+certificate),
			pull(mutual, "--ca-file "+r.mutual.CAFile()),
			pull(mutual, certificate),
			pull(mutual, "--cert-file no.crt --key-file no.key"),
			pull(mutual, "--cert-file "+r.mutual.ClientCertFile()),
		}},
	}
	for i := range table {
		table[i].steps = append([]step{writeBytes{"tiny-1.0.0.tgz", chartArchive(t, "tiny", "1.0.0")}}, table[i].steps...)
		table[i].rules = append(table[i].rules, digests, handshakes)
	}
	runLocally(t, table)
}

// TestPullFromRepository compares `helm pull` from repositories and from URLs.
func TestPullFromRepository(t *testing.T) {
	t.Parallel()
	key, other := signing.NewKey(t, "anna", "secret words"), signing.NewKey(t, "otto", "")
	first := chartArchive(t, "tiny", "1.0.0")
	files := map[string][]byte{
		"tiny-1.0.0.tgz":        first,
		"tiny-1.0.0.tgz.prov":   signed(t, sign{key, "tiny-1.0.0.tgz"}, first),
		"tiny-1.1.0.tgz":        chartArchive(t, "tiny", "1.1.0"),
		"tiny-2.0.0-rc.1.tgz":   chartArchive(t, "tiny", "2.0.0-rc.1"),
		"forged-1.0.0.tgz":      chartArchive(t, "forged", "1.0.0"),
		"forged-1.0.0.tgz.prov": signed(t, sign{key, "forged-1.0.0.tgz"}, first),
		"moved-1.0.0.tgz":       first,
		"moved-1.0.0.tgz.prov":  signed(t, sign{key, "tiny-1.0.0.tgz"}, first),
		"broken-1.0.0.tgz":      first,
		"broken-1.0.0.tgz.prov": []byte("no signature"),
		"text-1.0.0.tgz":        []byte("not an archive"),
	}
	var index strings.Builder
	index.WriteString("apiVersion: v1\nentries:\n")
	for _, name := range []string{"tiny 1.0.0 1.1.0 2.0.0-rc.1", "forged 1.0.0", "gone 1.0.0"} {
		name, versions, _ := strings.Cut(name, " ")
		fmt.Fprintf(&index, "  %s:\n", name)
		for version := range strings.FieldsSeq(versions) {
			fmt.Fprintf(&index, "  - {apiVersion: v2, name: %s, version: %s, urls: [%s-%s.tgz]}\n", name, version, name, version)
		}
	}
	files["index.yaml"] = []byte(index.String())
	url := serveFiles(t, files)
	add := stockHelm("repo add example " + url)
	encrypted, authority := serveTLS(t, files)
	far := serveGuarded(t, files, "anna", "right")
	near := map[string][]byte{
		"tiny-1.0.0.tgz": first,
		"index.yaml": []byte("apiVersion: v1\nentries:\n" +
			"  tiny:\n  - {apiVersion: v2, name: tiny, version: 1.0.0, urls: [tiny-1.0.0.tgz]}\n" +
			"  far:\n  - {apiVersion: v2, name: far, version: 1.0.0, urls: ['" + far + "/tiny-1.0.0.tgz']}\n"),
	}
	guarded := serveGuarded(t, near, "anna", "right")
	runLocally(t, []scenario{
		{name: "pull from a repository", steps: []step{
			add, removeFile("home/cache/repository/example-charts.txt"), // in random order
			helm("pull example/tiny"),
			helm("pull example/tiny --version 1.0.0"),
			helm("pull example/tiny --version <1.1"),
			helm("pull example/tiny --devel"),
			helm("pull example/tiny --version 7"),
			helm("pull example/none"),
			helm("pull example/gone"),
			helm("pull example/tiny --untar"),
			helm("pull example/tiny --untar"),
			helm("pull none/tiny"),
			showTree("tiny"),
		}},
		{name: "pull with --repo", steps: []step{
			helm("pull tiny --repo " + url),
			helm("pull tiny --repo " + url + " --version 1.0.0 --untar"),
			helm("pull tiny --repo " + url + " --username anna --password right --pass-credentials --devel"),
			helm("pull none --repo " + url),
			helm("pull tiny --repo " + url + "/nowhere"),
			helm("pull tiny --repo " + url + " --repository-cache elsewhere --version 9"),
		}, rules: []rule{cachedIndex}},
		{name: "pull from a URL", steps: []step{
			helm("pull " + url + "/tiny-1.0.0.tgz"),
			helm("pull " + url + "/tiny-1.0.0.tgz --version 5"),
			helm("pull " + url + "/none-1.0.0.tgz"),
			helm("pull " + url + "/tiny-1.0.0.tgz --untar --untardir here"),
			helm("pull " + url + "/text-1.0.0.tgz"),
			helm("pull " + url + "/text-1.0.0.tgz --untar --untardir text"),
			helm("pull " + url + "/tiny-1.0.0.tgz --ca-file nowhere.crt"),
			helm("pull " + url + "/tiny-1.0.0.tgz --cert-file no.crt --key-file no.key"),
			showTree("here"), showTree("text"),
		}, differs: []string{
			`- drwxr-xr-x here/tiny-1.0.0.tgz`,
			`- drwxr-xr-x text/text-1.0.0.tgz`,
		}},
		{name: "pull with a password over HTTP", rules: []rule{cachedIndex}, steps: []step{
			helm("pull tiny --repo " + guarded),
			helm("pull tiny --repo " + guarded + " --username anna --password wrong"),
			helm("pull tiny --repo " + guarded + " --username anna --password right"),
			helm("pull far --repo " + guarded + " --username anna --password right"),
			helm("pull far --repo " + guarded + " --username anna --password right --pass-credentials"),
			helm("pull " + guarded + "/tiny-1.0.0.tgz"),
			helm("pull " + guarded + "/tiny-1.0.0.tgz --username anna --password right"),
			stockHelm("repo add example " + guarded + " --username anna --password right"),
			removeFile("home/cache/repository/example-charts.txt"), // in random order
			helm("pull example/tiny --untar --untardir out"),
			helm("pull example/far"),
		}},
		{name: "pull over HTTPS", rules: []rule{cachedIndex}, steps: []step{
			helm("pull " + encrypted.URL + "/tiny-1.0.0.tgz"),
			helm("pull " + encrypted.URL + "/tiny-1.0.0.tgz --insecure-skip-tls-verify"),
			helm("pull " + encrypted.URL + "/tiny-1.0.0.tgz --ca-file " + authority + " --prov"),
			helm("pull tiny --repo " + encrypted.URL + " --ca-file " + authority + " --version 1.1.0"),
			helm("pull tiny --repo " + encrypted.URL + " --insecure-skip-tls-verify --devel"),
			helm("pull tiny --repo " + encrypted.URL),
			helm("template web " + encrypted.URL + "/tiny-1.0.0.tgz --ca-file " + authority),
		}},
		{name: "pull signed and not", steps: []step{
			helm("pull " + url + "/tiny-1.0.0.tgz --verify --keyring " + key.PublicRing),
			helm("pull " + url + "/tiny-1.0.0.tgz --verify --keyring " + key.SecretRing),
			helm("pull " + url + "/tiny-1.0.0.tgz --verify --keyring " + other.PublicRing + " --untar --untardir wrong"),
			helm("pull " + url + "/tiny-1.1.0.tgz --verify --keyring " + key.PublicRing + " --untar --untardir wrong"),
			helm("pull " + url + "/forged-1.0.0.tgz --verify --keyring " + key.PublicRing + " --untar --untardir wrong"),
			helm("pull " + url + "/moved-1.0.0.tgz --verify --keyring " + key.PublicRing + " --untar --untardir wrong"),
			helm("pull " + url + "/broken-1.0.0.tgz --verify --keyring " + key.PublicRing + " --untar --untardir wrong"),
			helm("pull " + url + "/tiny-1.0.0.tgz --verify --keyring values/first.yaml --untar --untardir wrong"),
			helm("pull " + url + "/tiny-1.0.0.tgz --verify --keyring nowhere.gpg --untar --untardir wrong"),
			showTree("wrong"),
			helm("template web " + url + "/tiny-1.0.0.tgz --verify --keyring " + key.PublicRing),
			helm("template web " + url + "/tiny-1.1.0.tgz --verify --keyring " + key.PublicRing),
			helm("template web " + url + "/forged-1.0.0.tgz --verify --keyring " + key.PublicRing),
		}},
		{name: "verify", steps: []step{
			writeBytes{"tiny-1.0.0.tgz", first}, sign{key, "tiny-1.0.0.tgz"},
			helm("verify tiny-1.0.0.tgz --keyring " + key.PublicRing),
			helm("verify tiny-1.0.0.tgz --keyring " + other.PublicRing),
			helm("verify tiny-1.0.0.tgz").withEnv("GNUPGHOME=" + filepath.Dir(key.PublicRing)),
			helm("verify tiny-1.0.0.tgz --keyring nowhere.gpg"),
			helm("verify tiny-1.0.0.tgz --keyring values/first.yaml"),
			helm("verify tiny-1.0.0.tgz"),
			writeBytes{"tiny-1.0.0.tgz", chartArchive(t, "tiny", "1.0.0", entry{name: "tiny/extra.txt"})},
			helm("verify tiny-1.0.0.tgz --keyring " + key.PublicRing),
			writeFile{"tiny-1.0.0.tgz.prov", "no signature"},
			helm("verify tiny-1.0.0.tgz --keyring " + key.PublicRing),
			removeFile("tiny-1.0.0.tgz.prov"),
			helm("verify tiny-1.0.0.tgz --keyring " + key.PublicRing),
			helm("verify charts/tiny"),
			helm("verify nowhere.tgz"),
			helm("verify values/first.yaml"),
			helm("verify"),
			helm("verify a b"),
		}, rules: []rule{signatures}},
	})
}

// cachedIndex is a rule for the names of cached indexes that belong to no configured
// repository.
var cachedIndex = pattern("cached index", "its name is random", `(repository/)[A-Za-z0-9_-]{20,}=*(-index\.yaml|-charts\.txt)`, "${1}DRAWN$2")

// TestInstallFromRegistry compares releases of charts from an OCI registry.
func TestInstallFromRegistry(t *testing.T) {
	t.Parallel()
	s := fillShelf(t)
	runScenarios(t, []scenario{
		{name: "install and upgrade from a registry", steps: []step{
			helm("install web " + s.ref("tiny --version 1.0.0")),
			helm("upgrade web " + s.ref("tiny --version ^1.0")),
			helm("upgrade web " + s.ref("tiny@"+s.digest)),
			helm("upgrade web " + s.ref("tiny:1.1.0@"+s.digest)),
			helm("upgrade web " + s.ref("tiny --devel")),
			helm("upgrade web " + s.ref("none")),
			helm("list"),
		}},
		{name: "install what is signed", rules: []rule{signatures}, steps: []step{
			helm("install web " + s.ref("tiny:1.1.0 --verify --keyring "+s.key.PublicRing)),
			helm("install web " + s.ref("tiny:1.0.0 --verify --keyring "+s.key.PublicRing)),
			helm("upgrade web " + s.ref("tiny:1.1.0 --verify --keyring "+s.key.PublicRing)),
			helm("status web"),
		}},
		{name: "install through a plugin", env: []string{"HELM_PLUGINS=plugins/fetch:plugins/render"}, steps: []step{
			writeBytes{"shelf/tiny-1.0.0.tgz", chartArchive(t, "tiny", "1.0.0")},
			helm("install web shelf://here/tiny-1.0.0.tgz --post-renderer plugins/render/render/render.sh"),
			helm("upgrade web shelf://here/tiny-1.0.0.tgz --post-renderer plugins/render/render/render.sh --post-renderer-args large"),
			helm("get manifest web"),
		}},
	})
}
