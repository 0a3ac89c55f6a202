// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/crdstorage"
	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/releasecrds"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/fault"
)

// StorageDriver returns the storage driver of the test run: the value of HELM_DRIVER, or "secret". "make soak"
// runs tests with other drivers. Tests that cannot run with them call RequireSecrets.
func StorageDriver() string {
	if driver := os.Getenv("HELM_DRIVER"); driver != "" {
		return driver
	}
	return "secret"
}

// RequireSecrets skips a test that needs releases in Secrets, if the test run has another storage driver. The reason
// says why, as in "stock Helm reads them".
func RequireSecrets(tb testing.TB, reason string) {
	tb.Helper()
	if driver := StorageDriver(); driver != "secret" {
		tb.Skipf("HELM_DRIVER=%s: the test needs releases in Secrets: %s", driver, reason)
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
	return e.Resource == releaseapi.ReleaseVersionResource && h.isVersionOf(tb, e.Name, release, revision)
}

// isVersionOf reports whether a ReleaseVersion is a revision of a release.
func (h *Helm) isVersionOf(tb testing.TB, name, release string, revision int) bool {
	tb.Helper()
	version, err := h.Client.Resource(releaseapi.ReleaseVersionGVR()).Namespace(h.Namespace).Get(tb.Context(), name, metav1.GetOptions{})
	return err == nil && version.GetLabels()[releaseapi.ReleaseLabel] == release && version.GetLabels()[releaseapi.RevisionLabel] == strconv.Itoa(revision)
}

// RevisionResource returns the resource whose objects are the stored revisions.
func RevisionResource() string {
	if StorageDriver() == crdstorage.DriverName {
		return releaseapi.ReleaseVersionResource
	}
	return "secrets"
}

// CreatesRevision reports whether a request stores a new revision.
func CreatesRevision(what fault.Request) bool {
	return what.Verb == "create" && what.Resource == RevisionResource()
}

// UpdatesRevision reports whether a request changes a stored revision.
func UpdatesRevision(what fault.Request) bool {
	return what.Verb == "update" && what.Resource == RevisionResource()
}

// ListsRevisions reports whether a request lists stored revisions.
func ListsRevisions(what fault.Request) bool {
	return what.Verb == "list" && what.Resource == RevisionResource()
}

// ReadsRevision reports whether a request reads one stored revision of a release.
func (h *Helm) ReadsRevision(tb testing.TB, what fault.Request, release string, revision int) bool {
	tb.Helper()
	if what.Verb != "get" || what.Resource != RevisionResource() {
		return false
	}
	if StorageDriver() != crdstorage.DriverName {
		return what.Name == fmt.Sprintf("sh.helm.release.v1.%s.v%d", release, revision)
	}
	return h.isVersionOf(tb, what.Name, release, revision)
}

// storageKinds are the kinds of the storage driver "crd", next to Secrets.
var storageKinds = map[string]string{
	releaseapi.ReleaseResource: "Release", releaseapi.ReleaseVersionResource: "ReleaseVersion", "leases": "Lease",
}

// IsStorageObject reports whether an object belongs to the release storage, not to a release.
func IsStorageObject(resource, name string) bool {
	if resource == "secrets" {
		return IsReleaseSecret("Secret/" + name)
	}
	return storageKinds[resource] != "" || resource == "applications"
}

// WithStorageRules returns rules in which the permissions for Secrets also apply to the other objects of the
// storage driver.
func WithStorageRules(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	if StorageDriver() != crdstorage.DriverName {
		return rules
	}
	added := slices.Clone(rules)
	for _, rule := range rules {
		if slices.Contains(rule.Resources, "secrets") {
			added = append(added, rbacv1.PolicyRule{
				Verbs: rule.Verbs, APIGroups: []string{releaseapi.Group, "coordination.k8s.io"}, Resources: slices.Sorted(maps.Keys(storageKinds)),
			})
		}
	}
	return added
}
