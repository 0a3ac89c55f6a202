// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/yamledit"
)

// TestAllocations limits the allocations for reading an object from a manifest and from a
// list, because both are done for every object of a release.
func TestAllocations(t *testing.T) {
	const objects = 100
	item := `{"metadata":{"name":"c%d","namespace":"ns","uid":"u","labels":{"a":"b"},"managedFields":[{"manager":"helm","operation":"Update",` +
		`"fieldsV1":{"f:data":{".":{},"f:key":{}},"f:metadata":{"f:labels":{".":{},"f:a":{}}}}}]},"data":{"key":"value"}}`
	items := make([]string, objects)
	for i := range items {
		items[i] = fmt.Sprintf(item, i)
	}
	list := `{"kind":"ConfigMapList","metadata":{"resourceVersion":"1"},"items":[` + strings.Join(items, ",") + `]}`
	for _, c := range []struct {
		name string
		max  float64
		do   func() error
	}{
		{"a document", 205, func() error {
			_, err := yamledit.ParseObject("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  labels: {a: b}\ndata:\n  key: value\n")
			return err
		}},
		{"a list of a hundred", 70 * objects, func() error {
			_, err := readItems(strings.NewReader(list), func(*unstructured.Unstructured) {})
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := testing.AllocsPerRun(10, func() {
				if err := c.do(); err != nil {
					t.Fatal(err)
				}
			})
			if got > c.max {
				t.Errorf("%.0f allocations, want %.0f at most", got, c.max)
			}
			t.Logf("%.0f allocations", got)
		})
	}
}
