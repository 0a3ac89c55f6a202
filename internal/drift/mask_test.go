// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/redact"
)

// TestMasked checks that no values of Secrets are left in a difference.
//   - "The contents of Secrets are masked, also in other objects"
func TestMasked(t *testing.T) {
	redactor := redact.New([]string{"open-sesame", "other-sesame"})
	secret := fakeapi.Info(t, "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: n}}")
	other := fakeapi.Info(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: n}}")
	for name, tt := range map[string]struct {
		d    Difference
		want string
	}{
		"content of a Secret": {Difference{Info: secret, State: Changed, Fields: []Field{{Path: "data.a", Declared: "eA==", Live: "eQ=="}}}, "[data.a *** *** (changed)]"},
		"new content":         {Difference{Info: secret, State: Changed, Fields: []Field{{Path: "stringData.a", Declared: "x"}}}, "[stringData.a *** <nil>]"},
		"all content":         {Difference{Info: secret, State: Changed, Fields: []Field{{Path: "data", Live: map[string]any{"a": "x"}}}}, "[data <nil> ***]"},
		"labels of a Secret":  {Difference{Info: secret, State: Changed, Fields: []Field{{Path: "metadata.labels.a", Declared: "x", Live: "y"}}}, "[metadata.labels.a x y]"},
		"kubectl's copy": {
			Difference{Info: secret, State: Changed, Fields: []Field{{Path: `metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`, Declared: "x", Live: "y"}}},
			`[metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"] *** *** (changed)]`,
		},
		"other objects":  {Difference{Info: other, State: Changed, Fields: []Field{{Path: "data.a", Declared: "open-sesame", Live: "other-sesame"}}}, "[data.a ****** ****** (changed)]"},
		"lists and maps": {Difference{Info: other, State: Changed, Fields: []Field{{Path: "data.open-sesame", Declared: []any{"open-sesame", int64(1)}, Live: map[string]any{"other-sesame": "open-sesame"}}}}, "[data.****** [****** 1] map[******:******]]"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range tt.d.Masked(redactor).Fields {
				got = append(got, fmt.Sprintf("%s %v %v", f.Path, f.Declared, f.Live))
			}
			if fmt.Sprint(got) != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
	o := Difference{Info: other, State: Unknown, Err: errors.New("it contains open-sesame")}.Masked(redactor)
	if o.Error != "it contains ******" || o.String() != "ConfigMap/c" {
		t.Errorf("got %+v", o)
	}
	if o := (Difference{Info: other, State: Changed}).Masked(redactor); o.Note == "" || o.Cause() != "changed" {
		t.Errorf("got %+v", o)
	}
}
