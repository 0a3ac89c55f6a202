// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasestorage

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"helm.sh/helm/v3/pkg/release"
)

func TestUnknownFields(t *testing.T) {
	for name, c := range map[string]struct{ stored, written, want string }{
		"none": {
			`{"name":"shop","info":{"status":"deployed"},"config":{"any":{"thing":1}},"chart":{"values":{"apply_method":"x"},"lock":null}}`,
			`{"name":"shop"}`, `{"name":"shop"}`,
		},
		"of the release": {
			`{"name":"shop","apply_method":"ssa"}`,
			`{"name":"shop","version":1}`, `{"name":"shop","version":1,"apply_method":"ssa"}`,
		},
		"of its status": {
			`{"info":{"status":"deployed","rollback_revision":3,"deleted":""}}`,
			`{"info":{"status":"superseded"}}`, `{"info":{"status":"superseded","rollback_revision":3}}`,
		},
		"names in another case are known": {
			`{"Info":{"STATUS":"deployed"}}`, `{"info":{"status":"deployed"}}`, `{"info":{"status":"deployed"}}`,
		},
		"of the chart and its metadata": {
			`{"chart":{"modtime":"t","metadata":{"name":"shop","new":[1],"dependencies":[{"name":"db","version":"1"},{"name":"db","alias":"b","depends-on":["db"]}]}}}`,
			`{"chart":{"metadata":{"name":"shop","dependencies":[{"name":"db","alias":"b"},{"name":"db"}]}}}`,
			`{"chart":{"modtime":"t","metadata":{"name":"shop","new":[1],"dependencies":[{"name":"db","alias":"b","depends-on":["db"]},{"name":"db"}]}}}`,
		},
		"of files, one of which is added and one removed": {
			`{"chart":{"files":[{"name":"a","data":"","modtime":"1"},{"name":"b","modtime":"2"},{"name":"c","modtime":"3"}]}}`,
			`{"chart":{"files":[{"name":"record","data":"eA=="},{"name":"a","data":""},{"name":"c","data":""}]}}`,
			`{"chart":{"files":[{"name":"record","data":"eA=="},{"name":"a","data":"","modtime":"1"},{"name":"c","data":"","modtime":"3"}]}}`,
		},
		"of hooks with equal names": {
			`{"hooks":[{"name":"a","kind":"Job","new":1},{"name":"a","kind":"Pod","new":2},{"name":"a","kind":"Job","last_run":{"phase":"","new":3}}]}`,
			`{"hooks":[{"name":"a","kind":"Job","last_run":{"phase":"Succeeded"}},{"name":"a","kind":"Pod"},{"name":"a","kind":"Job","last_run":{"phase":"Failed"}}]}`,
			`{"hooks":[{"name":"a","kind":"Job","new":1,"last_run":{"phase":"Succeeded"}},{"name":"a","kind":"Pod","new":2},{"name":"a","kind":"Job","last_run":{"phase":"Failed","new":3}}]}`,
		},
		"of objects that are gone": {
			`{"chart":{"modtime":"t"},"hooks":[{"name":"a","new":1}],"info":{"new":2}}`,
			`{"chart":null,"hooks":[]}`, `{"chart":null,"hooks":[]}`,
		},
		"of null elements": {
			`{"hooks":[null,{"name":"a","new":1}],"chart":{"files":null}}`,
			`{"hooks":[null,{"name":"a"}]}`, `{"hooks":[null,{"name":"a","new":1}]}`,
		},
		"fields that the written release contains stay": {
			`{"new":1}`, `{"new":2}`, `{"new":2}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			unknown, err := unknownFieldsOf(mustEncode(t, c.stored))
			if err != nil {
				t.Fatal(err)
			}
			got, err := unknown.addToStored(mustEncode(t, c.written))
			if err != nil {
				t.Fatal(err)
			}
			expectSameJSON(t, mustDecode(t, got), c.want)
		})
	}
}

func TestDecodeWithoutCompression(t *testing.T) {
	text := `{"name":"shop","apply_method":"ssa"}`
	unknown, err := unknownFieldsOf("eyJuYW1lIjoic2hvcCIsImFwcGx5X21ldGhvZCI6InNzYSJ9") // text in base64
	if err != nil || unknown == nil {
		t.Fatalf("got %v, %v for %s", unknown, err, text)
	}
}

func TestDamagedRelease(t *testing.T) {
	for name, stored := range map[string]string{
		"no base64": "%", "no gzip": "H4sIAAAA", "no JSON": mustEncode(t, "{"), "no object": mustEncode(t, "[1]"),
		"other types": mustEncode(t, `{"chart":[],"new":1}`), "empty": "",
	} {
		t.Run(name, func(t *testing.T) {
			if unknown, err := unknownFieldsOf(stored); err == nil {
				t.Errorf("got %v, want an error", unknown)
			}
		})
	}
}

// FuzzUnknownFields checks, for every stored release that Helm can decode, that a release that
// is decoded and stored again has the same known and the same unknown fields.
func FuzzUnknownFields(f *testing.F) {
	for _, text := range []string{
		`{"name":"shop","apply_method":"ssa","info":{"rollback_revision":1,"deleted":""}}`,
		`{"chart":{"modtime":"t","metadata":{"dependencies":[{"name":"a","x":1},{"name":"a","x":2}]},"files":[{"name":"f","modtime":"t"}]}}`,
		`{"hooks":[null,{"name":"a","kind":"Job","last_run":{"new":1}},{"Name":"a","KIND":"Job","new":{"<":">"}}]}`,
		`{"config":{"a":null},"version":1,"Version":2,"manifest":"\u2028<"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var before release.Release
		if json.Unmarshal(text, &before) != nil || bytes.Equal(bytes.TrimSpace(text), []byte("null")) {
			t.Skip()
		}
		stored, err := Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		unknown, err := unknownFieldsOf(stored)
		if err != nil {
			t.Skip() // for example if a field is there twice, and Helm ignores one of them
		}
		known, err := json.Marshal(&before)
		if err != nil {
			t.Skip() // for example a year with five digits
		}
		result, err := unknown.addToStored(mustEncode(t, string(known)))
		if err != nil {
			t.Fatal(err)
		}
		var after release.Release
		if err := json.Unmarshal([]byte(mustDecode(t, result)), &after); err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(&after); err != nil || !bytes.Equal(again, known) {
			t.Errorf("the known fields are\n%s, %v\nwant\n%s", again, err, known)
		}
	})
}

func mustEncode(t *testing.T, text string) string {
	t.Helper()
	stored, err := Encode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func mustDecode(t *testing.T, stored string) string {
	t.Helper()
	text, err := new(Decoder).Text([]byte(stored))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func expectSameJSON(t *testing.T, got, want string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
