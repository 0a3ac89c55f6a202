// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// TestDefaults checks the defaults of the flags.
func TestDefaults(t *testing.T) {
	o, err := parseOptions(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	c := o.controller
	if len(o.namespaces) > 0 || c.DefaultServiceAccount != "" || c.StorageDriver != "crd" || c.Concurrency != 32 || c.ConcurrencyPerNamespace != 16 || c.MaxTimeout != time.Hour {
		t.Errorf("got %+v", *o)
	}
	if len(c.Charts.Allowed) > 0 || c.Charts.AllowLocal || c.Charts.MaxBytes != 10485760 || len(c.ScriptNetworkNamespaces) > 0 {
		t.Errorf("got %+v", c)
	}
	if o.leaderElection || o.leaderElectionNamespace != "" || o.metricsAddress != ":8080" || o.healthAddress != ":8081" || o.logLevel != "info" {
		t.Errorf("got %+v", *o)
	}
	if o.shutdownTimeout != 25*time.Second {
		t.Errorf("operations have %s in which they record that they were canceled", o.shutdownTimeout)
	}
}

// TestParseOptions checks which values of flags are accepted.
func TestParseOptions(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"repeated":              {[]string{"--namespace", "a", "--namespace", "b", "--allow-chart-source", "https://a/", "--allow-chart-source", "oci://b/c", "--allow-script-network", "a,b"}, ""},
		"drivers":               {[]string{"--storage-driver", "chunked-secret"}, ""},
		"sql":                   {[]string{"--storage-driver", "sql"}, "must be one of chunked-secret, configmap, crd, secret"},
		"concurrency":           {[]string{"--concurrency", "0"}, "invalid --concurrency 0"},
		"namespace concurrency": {[]string{"--concurrency-per-namespace", "0"}, "invalid --concurrency-per-namespace 0"},
		"timeout":               {[]string{"--max-timeout", "0s"}, "invalid --max-timeout 0s"},
		"bytes":                 {[]string{"--max-chart-bytes", "0"}, "invalid --max-chart-bytes 0"},
		"prefix without scheme": {[]string{"--allow-chart-source", "example.com"}, "invalid --allow-chart-source"},
		"level":                 {[]string{"--log-level", "loud"}, "invalid --log-level"},
		"argument":              {[]string{"shop"}, "unexpected argument"},
		"unknown flag":          {[]string{"--unknown"}, "unknown flag"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseOptions(c.args, io.Discard)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	var help strings.Builder
	if _, err := parseOptions([]string{"--help"}, &help); !errors.Is(err, pflag.ErrHelp) || !strings.Contains(help.String(), "--leader-elect") {
		t.Errorf("got %v and\n%s", err, help.String())
	}
}
