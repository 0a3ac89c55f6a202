// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/test/harness"
)

// chartValues contains values of a chart, by path. The value of "global.salt" is a text; the
// values of keys that end in ".enabled" tell whether a subchart is enabled.
type chartValues map[string]any

// merge returns the values of v and others. Values of v override those of others.
func (v chartValues) merge(others chartValues) chartValues {
	all := chartValues{}
	maps.Copy(all, others)
	maps.Copy(all, v)
	return all
}

// nested returns the values as nested maps, as Helm reads them.
func (v chartValues) nested() map[string]any {
	root := map[string]any{}
	for path, value := range v {
		parts := strings.Split(path, ".")
		at := root
		for _, part := range parts[:len(parts)-1] {
			if at[part] == nil {
				at[part] = map[string]any{}
			}
			at = at[part].(map[string]any)
		}
		at[parts[len(parts)-1]] = value
	}
	return root
}

// salted is the value of fields that the templates set to the chart value global.salt.
const salted = "salt"

// declare returns the fields of the objects that the charts declare with the given values, by
// "Kind/name".
func (f *chartGenerator) declare(values chartValues) map[string]map[string]string {
	declared := map[string]map[string]string{}
	f.root.declare(f.root.name, "", values, declared)
	return declared
}

func (c *generatedChart) declare(folder, path string, values chartValues, declared map[string]map[string]string) {
	for _, th := range c.things {
		name := th.name
		if c.copied {
			name = strings.ReplaceAll(folder, "/", "-") + "-" + name
		}
		fields := maps.Clone(th.fields)
		for key, value := range fields {
			if value == salted {
				fields[key] = values["global.salt"].(string)
			}
		}
		if th.layer != "" {
			fields["layer"] = th.layer
		}
		declared[th.kind+"/"+name] = fields
	}
	for _, e := range c.entries {
		if values[path+e.effectiveName()+".enabled"] == true {
			e.chart.declare(folder+"/charts/"+e.effectiveName(), path+e.effectiveName()+".", values, declared)
		}
	}
}

// chartWriter writes charts. It chooses randomly between the equivalent ways to declare an
// order, or if stock is true, uses only those that stock Helm accepts.
type chartWriter struct {
	tb testing.TB
	*rand.Rand
	stock bool
}

// write writes the charts to a directory.
func (f *chartGenerator) write(tb testing.TB, dir string, stock bool) {
	tb.Helper()
	w := &chartWriter{tb: tb, Rand: f.Rand, stock: stock}
	w.chart(f.root, dir)
	w.file(filepath.Join(dir, "values.yaml"), f.defaults.nested())
}

func (w *chartWriter) file(path string, documents ...any) {
	w.tb.Helper()
	var text strings.Builder
	for i, document := range documents {
		part, err := yaml.Marshal(document)
		harness.NoError(w.tb, err)
		if i > 0 {
			text.WriteString("---\n")
		}
		text.Write(part)
	}
	harness.NoError(w.tb, os.MkdirAll(filepath.Dir(path), 0o755))
	harness.NoError(w.tb, os.WriteFile(path, []byte(text.String()), 0o600))
}

func (w *chartWriter) chart(c *generatedChart, dir string) {
	meta := map[string]any{"apiVersion": c.version, "name": c.name, "version": "1.2.3"}
	annotations := map[string]any{}
	if c.optedIn {
		annotations["helm.sh/sequencing"] = "enabled"
	}
	if len(c.ownAfter) > 0 {
		w.list(annotations, "subcharts", c.ownAfter)
	}
	if len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	var entries []any
	for _, e := range c.entries {
		entry := map[string]any{"name": e.chart.name, "version": "1.2.3", "condition": e.effectiveName() + ".enabled"}
		if e.alias != "" {
			entry["alias"] = e.alias
		}
		if len(e.after) > 0 {
			entry["depends-on"] = e.after
		}
		entries = append(entries, entry)
		if i := slices.IndexFunc(c.entries, func(x *dependency) bool { return x.chart == e.chart }); c.entries[i] == e {
			w.chart(e.chart, filepath.Join(dir, "charts", e.chart.name))
		}
	}
	if len(entries) > 0 {
		meta["dependencies"] = entries
	}
	w.file(filepath.Join(dir, "Chart.yaml"), meta)
	w.templates(c, filepath.Join(dir, "templates"))
}

// templates writes the objects of a chart to two templates, some of them as items of a List.
func (w *chartWriter) templates(c *generatedChart, dir string) {
	files := map[string][]any{"a.yaml": nil, "b.yaml": nil}
	var items []any
	for _, th := range c.things {
		name := th.name
		if c.copied {
			name = "{{ .Template.BasePath | dir | replace `/` `-` }}-" + name
		}
		object := th.object(name)
		w.sequence(th, object)
		if th.fields["policy"] == "" && w.IntN(8) == 0 {
			items = append(items, object)
			continue
		}
		file := []string{"a.yaml", "b.yaml"}[w.IntN(2)]
		files[file] = append(files[file], object)
	}
	if len(items) > 0 {
		files["list.yaml"] = []any{map[string]any{"apiVersion": "v1", "kind": "List", "items": items}}
	}
	for name, documents := range files {
		w.file(filepath.Join(dir, name), documents...)
	}
}

// sequence adds the annotations with the layer and the dependencies of an object.
func (w *chartWriter) sequence(th *template, object map[string]any) {
	annotations := object["metadata"].(map[string]any)["annotations"].(map[string]any)
	if th.layer != "" {
		annotations["helm.sh/layer"] = th.layer
	}
	if len(th.after) > 0 {
		w.list(annotations, "layers", th.after)
	}
}

// list adds an annotation with names, in one of the accepted forms.
func (w *chartWriter) list(annotations map[string]any, of string, names []string) {
	text, err := json.Marshal(names)
	harness.NoError(w.tb, err)
	forms := []any{string(text), strings.Join(names, ", "), names, []string{strings.Join(names, ",")}}
	keys := []string{"depends-on.helm.sh/" + of, "helm.sh/depends-on/" + of}
	if w.stock {
		forms, keys = forms[:2], keys[:1]
	}
	annotations[keys[w.IntN(len(keys))]] = forms[w.IntN(len(forms))]
}

// fieldsWith returns the fields whose keys begin with a word, by the rest of the key.
func fieldsWith(fields map[string]string, word string) map[string]any {
	found := map[string]any{}
	for key, value := range fields {
		if rest, is := strings.CutPrefix(key, word+" "); is {
			found[rest] = value
		}
	}
	return found
}

// object returns the manifest of the object of a template.
func (th *template) object(name string) map[string]any {
	annotations := fieldsWith(th.fields, "annotation")
	for field, key := range map[string]string{"policy": "helm.sh/resource-policy", "timeout": "helm.sh/readiness-timeout"} {
		if value := th.fields[field]; value != "" {
			annotations[key] = value
		}
	}
	meta := map[string]any{"name": name, "labels": fieldsWith(th.fields, "label"), "annotations": annotations}
	o := map[string]any{"apiVersion": "v1", "kind": th.kind, "metadata": meta}
	switch th.kind {
	case "ConfigMap", "Secret":
		o["data"] = th.data()
	case "ServiceAccount":
		if th.fields["automount"] != "" {
			o["automountServiceAccountToken"] = false
		}
	case "Service":
		o["spec"] = th.service(name)
	case "Pod":
		th.addPodBehavior(meta)
		o["spec"] = th.pod()
	case "Job":
		o["apiVersion"] = "batch/v1"
		template := map[string]any{"metadata": th.addPodBehavior(map[string]any{}), "spec": th.pod()}
		template["spec"].(map[string]any)["restartPolicy"] = "Never"
		o["spec"] = map[string]any{"backoffLimit": 0, "template": template}
	case "Deployment":
		o["apiVersion"] = "apps/v1"
		app := map[string]any{"app": name}
		template := map[string]any{"metadata": th.addPodBehavior(map[string]any{"labels": app}), "spec": th.pod()}
		spec := map[string]any{"selector": map[string]any{"matchLabels": app}, "template": template}
		if th.fields["replicas"] != "" {
			spec["replicas"] = 2
		}
		o["spec"] = spec
	}
	return o
}

func (th *template) data() map[string]any {
	data := fieldsWith(th.fields, "data")
	for key, value := range data {
		text := strconv.Quote(value.(string))
		if value == salted {
			text = ".Values.global.salt"
		}
		if th.kind == "Secret" {
			text += " | b64enc"
		}
		data[key] = "{{ " + strings.ReplaceAll(text, `"`, "`") + " }}"
	}
	return data
}

func (th *template) service(name string) map[string]any {
	declared := fieldsWith(th.fields, "port")
	var ports []any
	for _, port := range slices.Sorted(maps.Keys(declared)) {
		number, err := strconv.Atoi(port)
		if err != nil {
			panic(err) // the declared value is always a number
		}
		ports = append(ports, map[string]any{"port": number, "name": declared[port]})
	}
	spec := map[string]any{"clusterIP": "None", "selector": map[string]any{"app": name}, "ports": ports}
	if th.fields["publish"] != "" {
		spec["publishNotReadyAddresses"] = true
	}
	return spec
}

// addPodBehavior adds the annotations that define the behavior of the pods to metadata.
func (th *template) addPodBehavior(meta map[string]any) map[string]any {
	if th.fields["play"] == "" {
		return meta
	}
	annotations, _ := meta["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		meta["annotations"] = annotations
	}
	annotations["devcluster/pod"] = th.fields["play"]
	return meta
}

func (th *template) pod() map[string]any {
	container := map[string]any{"name": "c", "image": "i"}
	declared := fieldsWith(th.fields, "env")
	var env []any
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		env = append(env, map[string]any{"name": name, "value": declared[name]})
	}
	if len(env) > 0 {
		container["env"] = env
	}
	return map[string]any{"containers": []any{container}}
}
