// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chunkedsecret

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/orderrecord"
)

// killAt makes all requests from the given write on fail, as if the process had been killed, until
// restart is called.
func (c *testCluster) killAt(write int) (restart func() (killed bool)) {
	killed, writes := false, 0
	c.fault = func(verb, _ string) error {
		if verb == "create" || verb == "update" || verb == "delete" {
			writes++
		}
		if killed = killed || writes > write; killed {
			return errors.New("the process was killed")
		}
		return nil
	}
	return func() bool { c.fault = nil; return killed }
}

// TestKilledUpdates kills a process at each of its requests while it updates a revision. The
// revision must then be the old or the new one, and the next write must delete all unused parts.
func TestKilledUpdates(t *testing.T) {
	for name, sizes := range map[string][2]int{
		"changes": {large, large + 1}, "grows": {small, large}, "shrinks": {large, small}, "other status": {large, large},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := revision(1, release.StatusPendingInstall, sizes[0]), revision(1, release.StatusDeployed, sizes[1])
			for write := 0; ; write++ {
				c := newCluster()
				must(t, c.driver(t).Create(key, before))
				d := c.driver(t)
				_, err := d.Get(key)
				must(t, err)
				restart := c.killAt(write)
				err = d.Update(key, after)
				killed := restart()
				got, getErr := c.driver(t).Get(key)
				must(t, getErr)
				expected := before
				if got.Info.Status == release.StatusDeployed {
					expected = after
				} else if err == nil {
					t.Fatalf("write %d: the update has changed nothing", write)
				}
				c.expectStored(t, expected)
				must(t, c.driver(t).Update(key, before))
				c.expectStored(t, before)
				c.expectParts(t, sizes[0] == large)
				if !killed {
					break
				}
			}
		})
	}
}

// TestKilledCreate kills a process at each of its requests while it creates a revision. The
// revision must then be missing, incomplete but with the lease, or complete.
func TestKilledCreate(t *testing.T) {
	for write := 0; ; write++ {
		t.Run(fmt.Sprint(write), func(t *testing.T) {
			c := newCluster()
			restart := c.killAt(write)
			err := c.driver(t).Create(key, revision(1, release.StatusPendingInstall, large))
			killed := restart()
			if killed == (err == nil) {
				t.Fatalf("killed: %v, error %v", killed, err)
			}
			got, err := c.driver(t).Get(key)
			if write == 0 {
				if !errors.Is(err, driver.ErrReleaseNotFound) {
					t.Fatalf("got %v, error %v", got, err)
				}
				return
			}
			must(t, err)
			record, err := orderrecord.Read(got)
			if err != nil || record.LeaseFor(1) == nil || got.Info.Status != release.StatusPendingInstall || killed == (got.Manifest != "") {
				t.Errorf("record %v, error %v, release %+v", record, err, got)
			}
			got.Info.Status = release.StatusFailed
			must(t, c.driver(t).Update(key, got))
			c.expectStored(t, got)
			c.expectParts(t, !killed)
		})
		if t.Failed() || write > len(newParts(t))+1 {
			return
		}
	}
}

// newParts returns the parts of a large revision.
func newParts(t *testing.T) []string {
	t.Helper()
	c := newCluster()
	must(t, c.driver(t).Create(key, revision(1, release.StatusDeployed, large)))
	return c.parts(t)
}

// TestFailedCreate checks that a revision whose parts cannot be created is not left behind.
func TestFailedCreate(t *testing.T) {
	c := newCluster()
	c.fault = func(verb, name string) error {
		if verb == "create" && strings.Contains(name, ".release-1-") {
			return errors.New("exceeded quota")
		}
		return nil
	}
	if err := c.driver(t).Create(key, revision(1, release.StatusDeployed, large)); err == nil || !strings.Contains(err.Error(), "exceeded quota") {
		t.Errorf("got error %v", err)
	}
	if _, err := c.driver(t).Get(key); !errors.Is(err, driver.ErrReleaseNotFound) {
		t.Errorf("got error %v", err)
	}
	c.expectParts(t, false)
}

// TestConcurrentWrites checks that two processes that write the same revision delete no parts that
// the other one needs.
func TestConcurrentWrites(t *testing.T) {
	c := newCluster()
	created := revision(1, release.StatusPendingInstall, large)
	first, second := c.driver(t), c.driver(t)
	must(t, first.Create(key, created))
	_, err := second.Get(key)
	must(t, err)
	changed := revision(1, release.StatusDeployed, large+1)
	must(t, first.Update(key, changed)) // the parts that second has read no longer exist
	created.Info.Status = release.StatusFailed
	must(t, second.Update(key, created))
	c.expectStored(t, created)
	c.expectParts(t, true)
	must(t, first.Update(key, changed))
	c.expectStored(t, changed)
	c.expectParts(t, true)
}
