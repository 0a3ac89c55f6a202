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

// TestAllocations counts what it takes to read an object from a manifest, to read one
// from a list, and to find that it is as declared. Each is done for every object of a
// release.
func TestAllocations(t *testing.T) {
	const objects = 100
	item := `{"metadata":{"name":"c%d","namespace":"ns","uid":"u","labels":{"a":"b"},"managedFields":[{"manager":"helm","operation":"Update",` +
		`"fieldsV1":{"f:data":{".":{},"f:key":{}},"f:metadata":{"f:labels":{".":{},"f:a":{}}}}}]},"data":{"key":"value"}}`
	items := make([]string, objects)
	for i := range items {
		items[i] = fmt.Sprintf(item, i)
	}
	list := `{"kind":"ConfigMapList","metadata":{"resourceVersion":"1"},"items":[` + strings.Join(items, ",") + `]}`
	declared := parseObject(t, settings("a", "x: i"))
	live := parseObject(t, settings("a", "x: i, foreign: z")).Object.(*unstructured.Unstructured)
	for _, c := range []struct {
		name string
		most float64
		do   func() error
	}{
		{"a document", 205, func() error {
			_, err := yamledit.Object("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  labels: {a: b}\ndata:\n  key: value\n")
			return err
		}},
		{"a list of a hundred", 70 * objects, func() error {
			_, err := readItems(strings.NewReader(list), func(*unstructured.Unstructured) {})
			return err
		}},
		{"an object as declared", 0, func() error {
			p, err := computePatch(declared, declared.Object, live, false)
			if !p.empty() {
				t.Errorf("there is a patch: %s", p.data)
			}
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := testing.AllocsPerRun(10, func() {
				if err := c.do(); err != nil {
					t.Fatal(err)
				}
			})
			if got > c.most {
				t.Errorf("%.0f allocations, want %.0f at most", got, c.most)
			}
			t.Logf("%.0f allocations", got)
		})
	}
}
