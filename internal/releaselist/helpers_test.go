// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaselist

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	stdtime "time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/time"
)

// testRelease returns a release with a value in every field.
func testRelease(name, namespace string, version int, status release.Status) *release.Release {
	deployed := time.Date(2026, 1, 2, 3, version, 0, 0, stdtime.UTC)
	return &release.Release{
		Name: name, Namespace: namespace, Version: version,
		Info: &release.Info{
			FirstDeployed: deployed, LastDeployed: deployed, Deleted: deployed, Status: status,
			Description: "Install \"complete\"", Notes: "Größe <1> \u2028\x7f\n",
		},
		Chart: &chart.Chart{
			Metadata:  &chart.Metadata{Name: "shop", Version: "1.2.0", AppVersion: "7", Annotations: map[string]string{"a": "b"}},
			Lock:      &chart.Lock{Generated: stdtime.Unix(0, 0), Digest: "sha256:0", Dependencies: []*chart.Dependency{{Name: "db"}}},
			Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte("a: {{ .Values.a }}\n")}, {Name: "templates/empty.yaml"}},
			Values:    map[string]any{"n": -1.5e3, "list": []any{true, false, nil, "x", map[string]any{}}, "Upper": "\\", "empty": []any{}},
			Schema:    []byte(`{"type": "object"}`),
			Files:     []*chart.File{{Name: "README.md", Data: []byte{0, 0xff}}},
		},
		Config:   map[string]any{"password": "geheim", "\u212a": 0, "nested": map[string]any{"a": []any{1, 2}}},
		Manifest: "---\na: \"\\b\"\n# ünïcode\n",
		Hooks: []*release.Hook{{
			Name: "migrate", Kind: "Job", Path: "templates/job.yaml", Manifest: "kind: Job\n", Weight: -1,
			Events: []release.HookEvent{release.HookPreInstall}, LastRun: release.HookExecution{StartedAt: deployed, Phase: release.HookPhaseSucceeded},
		}},
	}
}

// text returns the JSON text of a release.
func text(tb testing.TB, rel *release.Release) string {
	tb.Helper()
	data, err := json.Marshal(rel)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// compress compresses text with gzip.
func compress(text string) []byte {
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	_, _ = w.Write([]byte(text)) // a buffer has no errors
	_ = w.Close()
	return buffer.Bytes()
}

// encode returns the text of a release in the form in which Helm's storage drivers store it.
func encode(text string) string { return base64.StdEncoding.EncodeToString(compress(text)) }

// storedForm is a form in which a release can be stored. Each function can be nil.
type storedForm struct {
	name string
	// edit changes the JSON text, and encode encodes it.
	edit, encode func(text string) string
	// onlyListed is true if Helm rejects the release because of a value that a list does not
	// show. This package lists it.
	onlyListed bool
}

// replace returns a function that replaces old, which must be in the text.
func replace(old, replacement string) func(string) string {
	return func(text string) string {
		if !strings.Contains(text, old) {
			panic("the text does not contain " + old)
		}
		return strings.Replace(text, old, replacement, 1)
	}
}

// storedForms returns forms of stored releases that are not testRelease as Helm stores it.
func storedForms() []storedForm {
	fromText := func(text string) func(string) string { return func(string) string { return text } }
	toBase64 := func(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
	return []storedForm{
		{name: "as Helm stores it"},
		{name: "with white space", edit: func(text string) string {
			var indented bytes.Buffer
			_ = json.Indent(&indented, []byte(text), " ", "\t")
			return "\r\n " + indented.String() + " \n"
		}},
		{name: "fields in another order", edit: func(text string) string {
			var fields map[string]json.RawMessage
			_ = json.Unmarshal([]byte(text), &fields)
			sorted, _ := json.Marshal(fields)
			return string(sorted)
		}},
		{name: "fields of Helm 4", edit: func(text string) string {
			text = replace(`{"name"`, `{"apply_method":"ssa","name"`)(text)
			text = replace(`"info":{`, `"info":{"rollback_revision":3,`)(text)
			return replace(`{"name":"README.md"`, `{"modtime":"2026-01-01T00:00:00Z","name":"README.md"`)(text)
		}},
		{name: "unknown field in upper case", edit: replace(`{"name"`, `{"Newer":[{}],"name"`)},
		{name: "unknown field with an escape sequence", edit: replace(`{"name"`, `{"\n":[{}],"name"`)},
		{name: "escaped values", edit: replace(`"info":{`, `"info":{"description":"\u0041\/\ud83d\ude00\ud800\b\f\n\r\t\"\\",`)},
		{name: "escaped names", edit: replace(`"version":1,`, `"\u0076ersion":1,`)},
		{name: "names in another case", edit: replace(`"version":1,`, `"VERSION":1,`)},
		{name: "names that Unicode folds", edit: replace(`"version":1,`, `"ver`+"\u017f"+`ion":1,`)},
		{name: "name twice", edit: replace(`{"name"`, `{"name":"other","name"`)},
		{name: "info twice", edit: replace(`{"name"`, `{"info":{"notes":"other","resources":{}},"name"`)},
		{name: "name in another case, too", edit: replace(`,"info"`, `,"Name":"other","info"`)},
		{name: "metadata in another case, too", edit: replace(`{"metadata"`, `{"Metadata":{"name":"other"},"metadata"`)},
		{name: "no chart", edit: fromText(`{"name":"shop","info":{"status":"deployed"},"version":1,"namespace":"test"}`)},
		{name: "chart is null", edit: replace(`"chart":{`, `"chart":null,"unknown":{`)},
		{name: "chart without metadata", edit: replace(`{"metadata":{`, `{"unknown":{`)},
		{name: "metadata is null", edit: replace(`"metadata":{`, `"metadata":null,"unknown":{`)},
		{name: "everything else is null", edit: fromText(`{"name":null,"info":{"status":null},"chart":{"metadata":{},"lock":null,"templates":null,` +
			`"values":null,"schema":null,"files":[null,{"name":null,"data":null}]},"config":null,"manifest":null,"hooks":null,"version":null,"namespace":null}`)},
		{name: "minimal", edit: fromText(`{"info":{}}`)},
		{name: "version is a string", edit: replace(`"version":1,`, `"version":"1",`)},
		{name: "version is a fraction", edit: replace(`"version":1,`, `"version":1.5,`)},
		{name: "version is too large", edit: replace(`"version":1,`, `"version":99999999999999999999,`)},
		{name: "name is a number", edit: replace(`{"name":"shop"`, `{"name":7`)},
		{name: "namespace is a list", edit: replace(`"namespace":"test"`, `"namespace":[]`)},
		{name: "info is a list", edit: replace(`"info":{`, `"info":[],"unknown":{`)},
		{name: "status is a number", edit: replace(`"status":"deployed"`, `"status":1`)},
		{name: "time is invalid", edit: replace(`"last_deployed":"`, `"last_deployed":"yesterday `)},
		{name: "time is empty", edit: replace(`"last_deployed":"2026-01-02T03:01:00Z"`, `"last_deployed":""`)},
		{name: "resources in info", edit: replace(`"info":{`, `"info":{"resources":{"v1/Pod":[{"kind":"Pod"}]},`)},
		{name: "chart is a string", edit: replace(`"chart":{`, `"chart":"x","unknown":{`)},
		{name: "metadata is invalid", edit: replace(`"annotations":{"a":"b"}`, `"annotations":{"a":1}`)},
		{name: "lock is invalid", edit: replace(`"digest":"sha256:0"`, `"digest":0`), onlyListed: true},
		{name: "templates are a map", edit: replace(`"templates":[`, `"templates":{},"unknown":[`), onlyListed: true},
		{name: "template is a string", edit: replace(`"templates":[`, `"templates":["x",`), onlyListed: true},
		{name: "name of a template is a number", edit: replace(`"name":"templates/a.yaml"`, `"name":1`), onlyListed: true},
		{name: "name of a template in another case", edit: replace(`"name":"templates/a.yaml"`, `"Name":1`), onlyListed: true},
		{name: "template is no base64", edit: replace(`"data":"`, `"data":"*`), onlyListed: true},
		{name: "template with too little padding", edit: replace(`"data":"`, `"data":"QQ=","unknown":"`), onlyListed: true},
		{name: "template with too much padding", edit: replace(`"data":"`, `"data":"Q===","unknown":"`), onlyListed: true},
		{name: "template with padding within", edit: replace(`"data":"`, `"data":"QQ==QQ==","unknown":"`), onlyListed: true},
		{name: "template with escaped line breaks", edit: replace(`"data":"`, `"data":"\r\n`)},
		{name: "template with raw line breaks", edit: replace(`"data":"`, "\"data\":\"\n\n\n\n")},
		{name: "template with unused bits", edit: replace(`"data":"`, `"data":"QR==","unknown":"`)},
		{name: "template is a list", edit: replace(`"data":"`, `"data":[1,2],"unknown":"`)},
		{name: "schema is an object", edit: replace(`"schema":"`, `"schema":{},"unknown":"`), onlyListed: true},
		{name: "values are a list", edit: replace(`"values":{`, `"values":[],"unknown":{`), onlyListed: true},
		{name: "values twice", edit: replace(`"values":{`, `"values":{"n":[]},"values":{`)},
		{name: "config is a string", edit: replace(`"config":{`, `"config":"x","unknown":{`), onlyListed: true},
		{name: "manifest is a number", edit: replace(`"manifest":"`, `"manifest":0,"unknown":"`), onlyListed: true},
		{name: "hooks are an object", edit: replace(`"hooks":[`, `"hooks":{},"unknown":[`), onlyListed: true},
		{name: "weight of a hook is a string", edit: replace(`"weight":-1`, `"weight":"-1"`), onlyListed: true},
		{name: "large numbers", edit: replace(`"config":{`, `"config":{"a":1e308,"b":-0.1E-999,"c":[0,-0,0.0,1`+strings.Repeat("0", 300)+`],`)},
		{name: "number that is too large", edit: replace(`"config":{`, `"config":{"a":1e309,`), onlyListed: true},
		{name: "long number that is too large", edit: replace(`"config":{`, `"config":{"a":1`+strings.Repeat("0", 400)+`,`), onlyListed: true},
		{name: "deep values", edit: replace(`"config":{`, `"config":{"a":`+strings.Repeat("[", 900)+strings.Repeat("]", 900)+`,`)},
		{name: "deeper values", edit: replace(`"config":{`, `"config":{"a":`+strings.Repeat(`[{"a":`, 1000)+"0"+strings.Repeat("}]", 1000)+`,`)},
		{name: "values that are too deep", edit: replace(`"config":{`, `"config":{"a":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+`,`)},
		{name: "invalid UTF-8", edit: replace(`"name":"shop","info"`, "\"name\":\"sh\xffop\",\"info\"")},
		{name: "unescaped control character", edit: replace(`"manifest":"`, "\"manifest\":\"\x1f")},
		{name: "invalid escape sequence", edit: replace(`"manifest":"`, `"manifest":"\x`)},
		{name: "invalid Unicode escape sequence", edit: replace(`"manifest":"`, `"manifest":"\u12g4`)},
		{name: "trailing comma", edit: replace(`"config":{`, `"config":{"a":[1,],`)},
		{name: "leading comma", edit: replace(`"config":{`, `"config":{"a":[,1],`)},
		{name: "no comma", edit: replace(`"config":{`, `"config":{"a":[1 2],`)},
		{name: "no colon", edit: replace(`"config":{`, `"config":{"a" 1,`)},
		{name: "no name", edit: replace(`"config":{`, `"config":{1:1,`)},
		{name: "leading zero", edit: replace(`"config":{`, `"config":{"a":01,`)},
		{name: "leading plus", edit: replace(`"config":{`, `"config":{"a":+1,`)},
		{name: "no digits", edit: replace(`"config":{`, `"config":{"a":-,`)},
		{name: "no digits after the point", edit: replace(`"config":{`, `"config":{"a":1.,`)},
		{name: "no digits in the exponent", edit: replace(`"config":{`, `"config":{"a":1e+,`)},
		{name: "misspelled null", edit: replace(`"config":{`, `"config":{"a":nul,`)},
		{name: "misspelled true", edit: replace(`"config":{`, `"config":{"a":True,`)},
		{name: "two texts", edit: func(text string) string { return text + text }},
		{name: "text that ends too early", edit: func(text string) string { return text[:len(text)-1] }},
		{name: "text that ends in the manifest", edit: func(text string) string { return text[:strings.Index(text, `"manifest":"`)+14] }},
		{name: "text that ends in a template", edit: func(text string) string { return text[:strings.Index(text, `"data":"`)+10] }},
		{name: "text that ends after a name", edit: func(text string) string { return text[:strings.Index(text, `"version":`)+9] }},
		{name: "empty text", edit: fromText("")},
		{name: "list", edit: fromText(`[]`)},

		{name: "nothing", encode: fromText("")},
		{name: "not encoded", encode: func(text string) string { return text }},
		{name: "not compressed", encode: func(text string) string { return toBase64([]byte(text)) }},
		{name: "base64 with line breaks", encode: func(text string) string {
			encoded := encode(text)
			return encoded[:5] + "\n" + encoded[5:9] + "\r\n" + encoded[9:] + "\n"
		}},
		{name: "base64 without padding", encode: func(text string) string {
			return strings.TrimRight(toBase64([]byte(text + "  ")[:len(text)/3*3+1]), "=")
		}},
		{name: "two compressed parts", encode: func(text string) string { return toBase64(append(compress(text[:9]), compress(text[9:])...)) }},
		{name: "rest after the compressed text", encode: func(text string) string { return toBase64(append(compress(text), "rest"...)) }},
		{name: "wrong checksum", encode: func(text string) string {
			data := compress(text)
			data[len(data)-8] ^= 1
			return toBase64(data)
		}},
		{name: "compressed text that ends too early", encode: func(text string) string {
			data := compress(text)
			return toBase64(data[:len(data)-20])
		}},
		{name: "only the header", encode: fromText(toBase64([]byte{0x1f, 0x8b, 0x08}))},
		{name: "invalid header", encode: fromText(toBase64([]byte{0x1f, 0x8b, 0x08, 0xff, 0}))},
	}
}

// store returns the stored form of a release.
func (v storedForm) store(text string) string {
	if v.edit != nil {
		text = v.edit(text)
	}
	if v.encode != nil {
		return v.encode(text)
	}
	return encode(text)
}
