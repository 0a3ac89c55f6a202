// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderrecord

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/processid"
	"github.com/ordered-helm/helm/internal/sequencer"
)

func leased() *Lease {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	return &Lease{
		Revision: 3, ID: "a", Operation: "upgrade", Process: processid.Process{Host: "build-7", PID: 4711, StartID: "b"},
		StartedAt: at, RenewedAt: at.Add(time.Minute), Seconds: 45,
	}
}

// TestLeaseSurvives checks that a lease is preserved when an order record is written and
// read, in a record with and without an order.
func TestLeaseSurvives(t *testing.T) {
	for name, want := range map[string]*Record{
		"with an order": sample(), "without": {Revision: 3, Charts: &sequencer.Chart{Name: "shop"}},
	} {
		want.Lease = leased()
		attached, err := WithRecord(shop(), want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(releaseOf(attached))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

// TestLeaseFor checks that a lease is returned only for the revision that it belongs to,
// because a rollback with stock Helm copies order records into other revisions.
func TestLeaseFor(t *testing.T) {
	r := &Record{Lease: leased()}
	if got := r.LeaseFor(3); got == nil || got.Duration() != 45*time.Second {
		t.Errorf("got %+v", got)
	}
	var none *Record
	for name, got := range map[string]*Lease{"another revision": r.LeaseFor(4), "no lease": (&Record{}).LeaseFor(3), "no record": none.LeaseFor(3)} {
		if got != nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestInvalidLeases checks that invalid leases are rejected, because their contents
// are printed and determine how long operations wait.
func TestInvalidLeases(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Lease)
		want   string
	}{
		"of no revision":         {func(l *Lease) { l.Revision = 0 }, "its lease has the invalid revision 0"},
		"without an ID":          {func(l *Lease) { l.ID = "" }, "its lease has no ID"},
		"for no time":            {func(l *Lease) { l.Seconds = 0 }, "its lease has the invalid duration of 0 seconds"},
		"for ever":               {func(l *Lease) { l.Seconds = 1 << 40 }, "its lease has the invalid duration of 1099511627776 seconds"},
		"of a host in colour":    {func(l *Lease) { l.Host = "\x1b[31mred" }, `its lease has the invalid name "\x1b[31mred"`},
		"of a host without end":  {func(l *Lease) { l.Host = strings.Repeat("a", 301) }, "its lease has the invalid name"},
		"for an operation below": {func(l *Lease) { l.Operation = "up\ngrade" }, `its lease has the invalid name "up\ngrade"`},
	} {
		r := &Record{Version: version, Charts: &sequencer.Chart{Name: "shop"}, Lease: leased()}
		tt.change(r.Lease)
		data, err := encode(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decode(data); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
}
