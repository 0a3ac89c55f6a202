// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/crdstorage"
	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/releasecrds"
	"github.com/ordered-helm/helm/test/cluster"
)

// StorageDriver returns the storage driver of the test run: the value of HELM_DRIVER, or "secret". "make soak"
// runs tests with other drivers. Tests that look into stored releases call RequireSecrets.
func StorageDriver() string {
	if driver := os.Getenv("HELM_DRIVER"); driver != "" {
		return driver
	}
	return "secret"
}

// RequireSecrets skips a test that needs releases in Secrets, for example because stock Helm reads them, if the
// test run has another storage driver.
func RequireSecrets(tb testing.TB) {
	tb.Helper()
	if driver := StorageDriver(); driver != "secret" {
		tb.Skipf("HELM_DRIVER=%s: the test needs releases in Secrets", driver)
	}
}

// InstallDefinitions installs the definitions of releases in a cluster, unless they are installed.
func InstallDefinitions(tb testing.TB, c *cluster.Cluster) {
	tb.Helper()
	client, err := dynamic.NewForConfig(c.Config())
	NoError(tb, err)
	_, err = releasecrds.Install(tb.Context(), client)
	NoError(tb, err)
}

// installDefinitions is InstallDefinitions for a test run whose storage driver needs them.
func installDefinitions(tb testing.TB, c *cluster.Cluster) {
	tb.Helper()
	if StorageDriver() == crdstorage.DriverName {
		InstallDefinitions(tb, c)
	}
}

// IsUpdateOf reports whether an entry of the audit log is a successful update of a stored revision.
func (h *Helm) IsUpdateOf(tb testing.TB, e cluster.Event, release string, revision int) bool {
	tb.Helper()
	if e.Namespace != h.Namespace || e.Stage != cluster.StageComplete || e.Code >= 300 || e.Verb != "update" {
		return false
	}
	if StorageDriver() != crdstorage.DriverName {
		return e.Resource == "secrets" && e.Name == fmt.Sprintf("sh.helm.release.v1.%s.v%d", release, revision)
	}
	if e.Resource != releaseapi.ReleaseVersionResource {
		return false
	}
	version, err := h.Client.Resource(releaseapi.ReleaseVersionGVR()).Namespace(h.Namespace).Get(tb.Context(), e.Name, metav1.GetOptions{})
	return err == nil && version.GetLabels()[releaseapi.ReleaseLabel] == release && version.GetLabels()[releaseapi.RevisionLabel] == strconv.Itoa(revision)
}
