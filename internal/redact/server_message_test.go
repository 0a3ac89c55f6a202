// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func inJSON(tb testing.TB, text string, html bool) string {
	tb.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(html)
	if err := encoder.Encode(map[string]string{"message": text}); err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

// TestTextInQuotations checks that secrets are found in all kinds of quotations, nested up
// to three times.
func TestTextInQuotations(t *testing.T) {
	secrets := map[string]string{
		"plain": "hunter22", "a quote and HTML": `new"pass&word<2>`, "a backslash": `C:\new\u0041\pass`, "not ASCII": "pässwörd→🗝x",
		"two lines": "first line 1\nsecond line 2", "controls": "hun\tter\x00\x1b[31m22", "not UTF-8": "hunter\xff\xfe22", "percent": "50%25 off",
	}
	words := regexp.MustCompile(`[a-zä-ü0-9]{3,}`)
	ways := map[string]func(string) string{
		"JSON":           func(s string) string { return inJSON(t, s, false) },
		"JSON with HTML": func(s string) string { return inJSON(t, s, true) },
		"%q":             func(s string) string { return fmt.Sprintf("said %q here", s) },
		"%+q":            func(s string) string { return fmt.Sprintf("said %+q here", s) },
		"URL":            func(s string) string { return "db://user:" + url.PathEscape(s) + "@host" },
		"plain":          func(s string) string { return "said " + s + " here" },
	}
	for name, secret := range secrets {
		m := New([]string{secret, base64.StdEncoding.EncodeToString([]byte(secret))})
		for first, one := range ways {
			for second, two := range ways {
				for third, three := range ways {
					text := three(two(one(secret)))
					got := m.Text(text)
					shown := slices.ContainsFunc(words.FindAllString(secret, -1), func(word string) bool { return strings.Contains(got, word) })
					if shown || strings.Count(got, placeholder) != 1 {
						t.Errorf("%s in %s, %s and %s:\n%s\nbecame\n%s", name, first, second, third, text, got)
					}
				}
			}
		}
	}
}

func TestMaskLeavesTheRest(t *testing.T) {
	m := New([]string{`new"pass&word2`})
	for text, want := range map[string]string{
		`{"a":"x\n","b":"new\"pass\u0026word2","c":"100%"}`:              `{"a":"x\n","b":"******","c":"100%"}`,
		`{"m":"{\"b\":\"new\\\"pass\\u0026word2\",\"c\":1}"}`:            `{"m":"{\"b\":\"******\",\"c\":1}"}`,
		`{"b":"new\"pass\u00`:                                            `{"b":"******`,
		`sword2 no, ord2" and new\"pass\u0026word no: C:\dir \u00zz \`:   `sword2 no, ord2" and new\"pass\u0026word no: C:\dir \u00zz \`,
		`ass\u0026word2" and what comes after`:                           `******" and what comes after`,
		`"\ud83d\udddd new\"pass\u0026word2 \U0001f5dd" \ud83d \x41 %zz`: `"\ud83d\udddd ****** \U0001f5dd" \ud83d \x41 %zz`,
	} {
		if got := m.Text(text); got != want {
			t.Errorf("%s\nbecame\n%s\nwant\n%s", text, got, want)
		}
	}
}

// TestServerMessage checks that messages of servers about a Secret are redacted, and that
// other text stays readable.
func TestServerMessage(t *testing.T) {
	object := `{"apiVersion":"v1","data":{"on":"dHJ1ZQ=="},"kind":"Secret","stringData":{"on":true,"text":"a } \" b"}}`
	patch := `{"data":{"on":true}}`
	config := `{"apiVersion":"v1","data":{"on":true},"kind":"ConfigMap"}`
	const unread = "json: cannot unmarshal bool into Go struct field Secret.stringData of type string"
	for name, c := range map[string]struct{ text, want string }{
		"a patch is refused": {
			fmt.Sprintf(`cannot patch "s" with kind Secret: "" is invalid: patch: Invalid value: %q: %s`, object, unread),
			`cannot patch "s" with kind Secret: "" is invalid: patch: Invalid value: ******: ` + unread,
		},
		"of no kind": {
			fmt.Sprintf(`"" is invalid: patch: Invalid value: %q: no`, object),
			`"" is invalid: patch: Invalid value: ******: no`,
		},
		"cut off": {
			fmt.Sprintf(`cannot patch "s" with kind Secret: Invalid value: %q`, object)[:90] + "…",
			`cannot patch "s" with kind Secret: Invalid value: ******`,
		},
		"a fragment": {
			fmt.Sprintf(`cannot patch "s" with kind Secret: bad patch %s, %q`, patch, patch),
			`cannot patch "s" with kind Secret: bad patch ******, ******`,
		},
		"as Go prints it": {
			`failed to create resource: Secret "s" is invalid: data: Invalid value: map[string]string{"on":"true"}, map[data:map[on:[116 114]]] &v1.Secret{Data: nil}: no`,
			`failed to create resource: Secret "s" is invalid: data: Invalid value: map[string]string******, ****** &v1.Secret******: no`,
		},
		"an excerpt": {
			`Secret in version "v1" cannot be handled as a Secret: v1.Secret.StringData: ReadString: expects ", error found in #10 byte of ...|on":true}}|..., bigger context ...|{"apiVersion":"v1","on":true}}|...`,
			`Secret in version "v1" cannot be handled as a Secret: v1.Secret.StringData: ReadString: expects ", error found in #10 byte of ******`,
		},
		"two answers": {
			fmt.Sprintf(`failed to create resource: ConfigMap "c" is invalid: data: Invalid value: %q: no && cannot patch "s" with kind Secret: Invalid value: %q: no`, config, patch),
			`failed to create resource: ConfigMap "c" is invalid: data: Invalid value: ******: no && cannot patch "s" with kind Secret: Invalid value: ******: no`,
		},
		"quoted twice": {
			fmt.Sprintf("webhook said %q", fmt.Sprintf("no: %q", object)),
			"webhook said ******",
		},
		"escapes that Go does not have": {
			`cannot patch "s" with kind Secret: {"a":"x\/}","on":true}: no`,
			`cannot patch "s" with kind Secret: ******: no`,
		},
		"over several lines": {
			"cannot patch \"s\" with kind Secret: {\n  \"data\": {\"on\":\n  true}\n}: no\nlayer {x: y}",
			"cannot patch \"s\" with kind Secret: ******: no\nlayer {x: y}",
		},
		"beside a log": {
			"secret \"db\" not found\n  | {\"level\": \"error\", \n  | {\"level\": 1}\nSecret/s failed: \"{\\\"on\\\":true}\"\nend",
			"secret \"db\" not found\n  | {\"level\": \"error\", \n  | {\"level\": 1}\nSecret/s failed: ******\nend",
		},
		"names and types": {
			`Secret "s" is invalid: type: Invalid value: "Opaque": field is immutable`,
			`Secret "s" is invalid: type: Invalid value: "Opaque": field is immutable`,
		},
		"another kind": {
			fmt.Sprintf(`cannot patch "c" with kind ConfigMap: "" is invalid: patch: Invalid value: %q: no`, config),
			fmt.Sprintf(`cannot patch "c" with kind ConfigMap: "" is invalid: patch: Invalid value: %q: no`, config),
		},
		"a kind that names one": {
			`Deployment.apps "web" is invalid: spec.template.spec.volumes[0].secret: Invalid value: {"secretName":"a:b"}`,
			`Deployment.apps "web" is invalid: spec.template.spec.volumes[0].secret: Invalid value: {"secretName":"a:b"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var none *Redactor
			if got := none.ServerMessage(c.text); got != c.want {
				t.Errorf("%s\nbecame\n%s\nwant\n%s", c.text, got, c.want)
			}
		})
	}
}

func TestError(t *testing.T) {
	m := New([]string{"hunter22"})
	plain := fmt.Errorf("no: %w", io.EOF)
	if got := m.Error(plain); got != plain { //nolint:errorlint // must be the same error
		t.Errorf("%v became %v", plain, got)
	}
	if got := m.Error(nil); got != nil {
		t.Errorf("nothing became %v", got)
	}
	got := m.Error(fmt.Errorf("no hunter22: %w", &strconv.NumError{Func: "f", Num: "1", Err: io.EOF}))
	var number *strconv.NumError
	if !errors.Is(got, io.EOF) || !errors.As(got, &number) {
		t.Errorf("%v does not say what it is", got)
	}
	if text := fmt.Sprintf("%v %+v", got, got); strings.Contains(text, "hunter") {
		t.Errorf("%s", text)
	}
}
