// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ordered-helm/helm/test/chartserver"
	"github.com/ordered-helm/helm/test/signing"
)

// TestChartsFromRepositories compares the commands that use a chart from a repository that
// requires a password and a certificate, with signed charts.
func TestChartsFromRepositories(t *testing.T) {
	t.Parallel()
	folder := publishCharts(t, "charts/tiny", "charts/plain", "charts/broad")
	key, other := signing.NewKey(t, "Ada", ""), signing.NewKey(t, "Bo", "")
	for who, name := range map[*signing.Key]string{key: "tiny-1.0.0.tgz", other: "plain-0.3.1.tgz"} {
		if _, err := who.Sign(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	closed := chartserver.Start(t, folder, chartserver.Options{Username: "ada", Password: "secret", ClientCertificates: true})
	open := chartserver.Start(t, folder, chartserver.Options{})
	broken := chartserver.Start(t, t.TempDir(), chartserver.Options{})
	if err := os.WriteFile(filepath.Join(folder, "bad-1.0.0.tgz"), []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}

	repo, signed := " --repo "+closed.URL, " --keyring "+key.PublicRing
	tls := " --ca-file " + closed.CAFile + " --cert-file " + closed.CertFile + " --key-file " + closed.KeyFile
	trust := " --cert-file " + closed.CertFile + " --key-file " + closed.KeyFile + " --insecure-skip-tls-verify"
	table := []scenario{
		{name: "with all that it takes", noCluster: true, steps: []step{
			helm("show all tiny --username ada --password secret --pass-credentials --verify --version 1.x --devel --plain-http" + repo + tls + signed).ok(),
			helm("show chart broad --username ada --password secret --pass-credentials --version >0-0 --plain-http" + repo + trust).ok(),
			helm("show values tiny --username ada --password secret --verify --version 1.0.0 --ca-file " + closed.CAFile + repo + trust + signed).ok(),
			helm("show crds tiny --username ada --password secret --version 1.0.0" + repo + trust).ok(),
			helm("show readme broad --username ada --password secret --version >0.0.0-0" + repo + trust).ok(),
			helm("show crds broad --username ada --password secret --devel" + repo + tls).ok(),
			helm("template web tiny --username ada --password secret --pass-credentials --verify --devel --insecure-skip-tls-verify" + repo + tls + signed).ok(),
			helm("install web tiny --dry-run=client --username ada --password secret --pass-credentials --verify --version ^1 --devel --plain-http --disable-openapi-validation" + repo + tls + signed),
		}},
		{name: "installed", steps: []step{
			helm("install web tiny --username ada --password secret --pass-credentials --verify --version ^1.0 --devel --plain-http" + repo + tls + signed).ok(),
			helm("upgrade web tiny --username ada --password secret --pass-credentials --verify --version ^1.0 --devel --plain-http --dependency-update" + repo + tls + signed).ok(),
			helm("upgrade web plain --username ada --password secret" + repo + trust).ok(),
			helm("install other broad --devel --skip-crds --enable-dns --dependency-update"+" --repo "+open.URL+" --set-json", `list=["c"]`, "--set-literal", "colour=a,b", "--set-file", "deep.er=values/first.yaml", "--skip-schema-validation").ok(),
			helm("get values other --all"),
			helm("uninstall web other").ok(),
		}},
		{name: "with something missing or wrong", noCluster: true, steps: []step{
			helm("show chart tiny --username ada --password wrong" + repo + tls),
			helm("show chart tiny" + repo + tls),
			helm("show chart tiny --username ada --password secret" + repo + " --ca-file " + closed.CAFile),
			helm("show chart tiny --username ada --password secret --ca-file nowhere" + repo),
			helm("show chart tiny --username ada --password secret --cert-file nowhere --key-file nowhere" + repo),
			helm("template web tiny --ca-file values/first.yaml" + repo),
			helm("template web tiny --version 9.9.9 --repo " + open.URL),
			helm("template web tiny --version nine --repo " + open.URL),
			helm("template web broad --repo " + open.URL),
			helm("template web none --repo " + open.URL),
			helm("template web tiny --repo " + broken.URL),
			helm("template web tiny --repo not-a-url"),
			helm("template web tiny --repo ftp://127.0.0.1/"),
			helm("template web " + open.URL + "/tiny-1.0.0.tgz").ok(),
			helm("template web " + open.URL + "/none-1.0.0.tgz"),
			helm("template web " + open.URL + "/bad-1.0.0.tgz"),
			helm("template web " + open.URL),
		}},
		{name: "signed by somebody else or by nobody", noCluster: true, steps: []step{
			helm("template web plain --verify --repo " + open.URL + signed),
			helm("template web broad --devel --verify --repo " + open.URL + signed),
			helm("template web tiny --verify --keyring nowhere --repo " + open.URL),
			helm("template web tiny --verify --keyring values/first.yaml --repo " + open.URL),
			helm("show readme tiny --verify --repo " + open.URL + " --keyring " + other.PublicRing),
			helm("show crds tiny --verify --pass-credentials --version 1.0.0 --repo " + open.URL + signed).ok(),
			helm("show values tiny --pass-credentials --plain-http --repo " + open.URL).ok(),
			helm("show readme tiny --pass-credentials --plain-http --devel --repo " + open.URL).ok(),
			helm("show crds tiny --plain-http --repo " + open.URL).ok(),
		}},
		{name: "dependencies behind a password", noCluster: true, rules: []rule{cachedNames}, steps: []step{
			writeFile{"repositories.yaml", "apiVersion: v1\nrepositories:\n- {name: closed, url: " + closed.URL + ", username: ada, password: secret, caFile: " +
				closed.CAFile + ", certFile: " + closed.CertFile + ", keyFile: " + closed.KeyFile + ", pass_credentials_all: true}\n"},
			needs([3]string{"tiny", "1.0.0", "@closed"}, [3]string{"plain", "0.3.1", closed.URL}),
			helm("dependency update charts/needy --repository-config repositories.yaml --repository-cache cached").ok(),
			helm("dependency build charts/needy --repository-config repositories.yaml --repository-cache cached --verify"),
			needs([3]string{"tiny", "1.0.0", "@closed"}),
			helm("dependency update charts/needy --repository-config repositories.yaml --verify" + signed).ok(),
			helm("dependency build charts/needy --repository-config repositories.yaml --verify" + signed).ok(),
			helm("dependency update charts/needy --username ada --password secret --cert-file " + closed.CertFile + " --key-file " + closed.KeyFile + " --insecure-skip-tls-verify --plain-http"),
			helm("dependency build charts/needy --username ada --password secret --ca-file " + closed.CAFile + " --insecure-skip-tls-verify --plain-http"),
			helm("dependency list charts/needy"),
		}},
		{name: "packages that are signed", noCluster: true, rules: []rule{signatures, digests}, steps: []step{
			helm("package charts/tiny --sign --key Ada --keyring " + key.SecretRing + " -d signed").ok(),
			helm("verify signed/tiny-1.0.0.tgz" + signed).ok(),
			helm("verify signed/tiny-1.0.0.tgz --keyring " + other.PublicRing),
			helm("install web signed/tiny-1.0.0.tgz --verify --dry-run=client" + signed),
			helm("template web signed/tiny-1.0.0.tgz --verify" + signed).ok(),
			helm("show all signed/tiny-1.0.0.tgz --verify --insecure-skip-tls-verify" + signed).ok(),
			helm("install web signed/tiny-1.0.0.tgz --verify --dry-run=client --insecure-skip-tls-verify" + signed),
			helm("package charts/tiny --sign --key Nobody --keyring " + key.SecretRing),
			helm("package charts/tiny --sign --key Ada" + signed),
			writeFile{"passphrase", "open sesame\n"},
			helm("package charts/tiny --sign --key Ada --passphrase-file passphrase --keyring " + key.SecretRing).ok(),
			helm("package charts/tiny --sign --key Ada --passphrase-file nowhere --keyring " + key.SecretRing),
			helm("package charts/tiny --sign --key Ada --passphrase-file - --keyring " + key.SecretRing),
		}},
		{name: "global flags", noCluster: true, steps: []step{
			helm("list --kube-apiserver http://127.0.0.1:1 --kube-token token --kube-as-user ada --kube-as-group admins --kube-as-group users"),
			helm("list --kube-apiserver https://127.0.0.1:1 --kube-ca-file nowhere"),
			helm("list --kube-apiserver https://127.0.0.1:1 --kube-insecure-skip-tls-verify --kube-tls-server-name there"),
			helm("template web charts/tiny --qps 5 --burst-limit 7").ok(),
			helm("template web charts/tiny --qps x"),
			helm("template web charts/tiny --burst-limit x"),
			helm("lint charts/plain --set-string a=1 --set-literal b=c --set-file d=values/first.yaml").ok(),
		}},
	}
	runScenarios(t, table)
}
