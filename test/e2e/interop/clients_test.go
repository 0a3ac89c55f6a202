// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage/driver"
	"helm.sh/helm/v3/pkg/strvals"

	"github.com/ordered-helm/helm/internal/graphview"
	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/pkg/chart/loader"
	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/harness"
)

// client operates on a release named rel: Ordered Helm or stock Helm, as a program or as a Go
// package.
type client interface {
	fmt.Stringer
	// revisions returns the number and status of each stored revision.
	revisions(tb testing.TB) []string
	manifest(tb testing.TB, revision int) string
	rollback(tb testing.TB, revision int)
	uninstall(tb testing.TB)
}

// program is a client that is Ordered Helm.
type program interface {
	client
	// deploy installs or upgrades the release in order.
	deploy(tb testing.TB, chart, values string) error
	// order describes in one line what is stored about the order of a revision.
	order(tb testing.TB, revision int) string
	// plan returns the deployment graph of a revision, as text.
	plan(tb testing.TB, revision int) string
}

// The timeout of operations and the readiness timeout of resources.
const (
	operationTimeout = 5 * time.Minute
	resourceTimeout  = 2 * time.Minute
)

// formatOrder formats an order as one line.
func formatOrder(order *action.Order) string {
	if order == nil {
		return "none"
	}
	text := fmt.Sprintf("followed, %d nodes", order.Nodes)
	if !order.Followed {
		text = "not " + text
	}
	if order.Removing {
		text += ", removing"
	}
	if order.Interrupted {
		text += ", interrupted, done: " + strings.Join(order.Done, " ")
	}
	return text
}

// binary is a client that runs the binary of Ordered Helm or stock Helm, with the environment
// and the namespace of the harness.
type binary struct {
	*harness.Helm
	path string
}

func ourBinary(tb testing.TB, h *harness.Helm) binary {
	tb.Helper()
	return binary{h, binaries.Get(tb).Helm}
}

func (b binary) stock(tb testing.TB) binary {
	tb.Helper()
	return binary{b.Helm, binaries.Get(tb).Stock}
}

func (b binary) String() string { return filepath.Base(b.path) }

// try runs the binary and returns its stdout. If it fails, the error contains its stderr.
func (b binary) try(tb testing.TB, args ...string) (string, error) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), b.path, append(args, "--namespace", b.Namespace)...)
	cmd.Env = b.Env
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s %s: %w\n%s", b, strings.Join(args, " "), err, exit.Stderr)
	}
	return string(out), err
}

// must is like try, but ends the test if there is an error.
func (b binary) must(tb testing.TB, args ...string) string {
	tb.Helper()
	out, err := b.try(tb, args...)
	harness.NoError(tb, err)
	return out
}

func (b binary) deploy(tb testing.TB, chart, values string) error {
	tb.Helper()
	_, err := b.try(tb, "upgrade", "--install", "rel", chart, "--set", values, "--wait=ordered",
		"--timeout", operationTimeout.String(), "--readiness-timeout", resourceTimeout.String())
	return err
}

func (b binary) rollback(tb testing.TB, revision int) {
	tb.Helper()
	b.must(tb, "rollback", "rel", strconv.Itoa(revision))
}

func (b binary) uninstall(tb testing.TB) {
	tb.Helper()
	b.must(tb, "uninstall", "rel", "--wait")
}

func (b binary) revisions(tb testing.TB) []string {
	tb.Helper()
	out, err := b.try(tb, "history", "rel", "--output", "json")
	if err != nil && strings.Contains(err.Error(), "release: not found") {
		return nil
	}
	harness.NoError(tb, err)
	var rows []struct {
		Revision int
		Status   string
	}
	decode(tb, out, &rows)
	var list []string
	for _, row := range rows {
		list = append(list, fmt.Sprint(row.Revision, " ", row.Status))
	}
	return list
}

func (b binary) manifest(tb testing.TB, revision int) string {
	tb.Helper()
	return b.must(tb, "get", "manifest", "rel", "--revision", strconv.Itoa(revision))
}

func (b binary) order(tb testing.TB, revision int) string {
	tb.Helper()
	var status struct{ Order *action.Order }
	decode(tb, b.must(tb, "status", "rel", "--revision", strconv.Itoa(revision), "--output", "json"), &status)
	return formatOrder(status.Order)
}

func (b binary) plan(tb testing.TB, revision int) string {
	tb.Helper()
	return b.must(tb, "dag", "rel", "--revision", strconv.Itoa(revision))
}

func decode(tb testing.TB, text string, into any) {
	tb.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		tb.Fatalf("%v in\n%s", err, text)
	}
}

// library is a client that uses the Go packages of Ordered Helm, with releases in memory.
type library struct {
	config    *action.Configuration
	namespace string
}

// stockLibrary is a client that uses Helm's Go packages, with the releases of a library.
type stockLibrary struct{ library }

func newLibrary(tb testing.TB, h *harness.Helm) library {
	tb.Helper()
	return newLibraryWith(tb, h, "memory")
}

// newLibraryWith returns the library with a storage driver.
func newLibraryWith(tb testing.TB, h *harness.Helm, driver string) library {
	tb.Helper()
	settings := cli.New()
	settings.KubeConfig = h.Cluster.Kubeconfig()
	settings.SetNamespace(h.Namespace)
	config := new(action.Configuration)
	harness.NoError(tb, action.InitConfiguration(config, settings.RESTClientGetter(), h.Namespace, driver, func(string, ...any) {}))
	return library{config, h.Namespace}
}

func (library) String() string { return "the library" }

func (stockLibrary) String() string { return "Helm's library" }

func (l library) deploy(tb testing.TB, chart, values string) error {
	tb.Helper()
	chrt, err := loader.Load(chart)
	harness.NoError(tb, err)
	vals, err := strvals.Parse(values)
	harness.NoError(tb, err)
	if len(l.revisions(tb)) == 0 {
		install := action.NewInstall(l.config)
		install.ReleaseName, install.Namespace = "rel", l.namespace
		install.WaitStrategy, install.Timeout, install.ReadinessTimeout = action.WaitStrategyOrdered, operationTimeout, resourceTimeout
		_, err = install.RunWithContext(tb.Context(), chrt, vals)
		return err
	}
	upgrade := action.NewUpgrade(l.config)
	upgrade.Namespace = l.namespace
	upgrade.WaitStrategy, upgrade.Timeout, upgrade.ReadinessTimeout = action.WaitStrategyOrdered, operationTimeout, resourceTimeout
	_, err = upgrade.RunWithContext(tb.Context(), "rel", chrt, vals)
	return err
}

func (l library) rollback(tb testing.TB, revision int) {
	tb.Helper()
	rollback := action.NewRollback(l.config)
	rollback.Version, rollback.Timeout, rollback.ReadinessTimeout = revision, operationTimeout, resourceTimeout
	harness.NoError(tb, rollback.RunWithContext(tb.Context(), "rel"))
}

func (l stockLibrary) rollback(tb testing.TB, revision int) {
	tb.Helper()
	rollback := helmaction.NewRollback(l.config)
	rollback.Version, rollback.Timeout = revision, operationTimeout
	harness.NoError(tb, rollback.Run("rel"))
}

func (l library) uninstall(tb testing.TB) {
	tb.Helper()
	uninstall := action.NewUninstall(l.config)
	uninstall.Wait, uninstall.Timeout = true, operationTimeout
	if _, err := uninstall.RunWithContext(tb.Context(), "rel"); err != nil {
		tb.Fatal(err)
	}
}

func (l stockLibrary) uninstall(tb testing.TB) {
	tb.Helper()
	uninstall := helmaction.NewUninstall(l.config)
	uninstall.Wait, uninstall.Timeout = true, operationTimeout
	if _, err := uninstall.Run("rel"); err != nil {
		tb.Fatal(err)
	}
}

// revisions also works for stockLibrary, because Ordered Helm uses Helm's actions to read
// releases.
func (l library) revisions(tb testing.TB) []string {
	tb.Helper()
	history, err := action.NewHistory(l.config).Run("rel")
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		tb.Fatal(err)
	}
	releaseutil.SortByRevision(history)
	var list []string
	for _, rel := range history {
		list = append(list, fmt.Sprint(rel.Version, " ", rel.Info.Status))
	}
	return list
}

func (l library) read(tb testing.TB, revision int) *release.Release {
	tb.Helper()
	get := action.NewGet(l.config)
	get.Version = revision
	rel, err := get.Run("rel")
	harness.NoError(tb, err)
	return rel
}

func (l library) manifest(tb testing.TB, revision int) string {
	tb.Helper()
	return l.read(tb, revision).Manifest
}

func (l library) order(tb testing.TB, revision int) string {
	tb.Helper()
	order, err := action.OrderOf(l.read(tb, revision))
	harness.NoError(tb, err)
	return formatOrder(order)
}

func (l library) plan(tb testing.TB, revision int) string {
	tb.Helper()
	plan, err := action.ReleasePlan(l.read(tb, revision))
	harness.NoError(tb, err)
	var text strings.Builder
	harness.NoError(tb, (&graphview.View{Plan: plan.Plan}).Write(&text, graphview.FormatText))
	return text.String()
}
