// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartgen

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ordered-helm/helm/internal/chartloader"
)

// Files returns the files of the chart and its subcharts. r chooses between alternative forms
// of the same content, such as the two keys of an annotation.
func (c *Chart) Files(r *rand.Rand) []*chartloader.BufferedFile {
	w := &fileWriter{Rand: r}
	w.chart(c, "")
	w.file("values.yaml", jsonOf(c.tree().values()))
	return w.files
}

// values returns the values that enable or disable the subcharts on all levels. They must be
// in the values.yaml of the root chart, because Helm ignores conditions in the values of
// charts below an aliased chart.
func (t *chartCopy) values() map[string]any {
	values := map[string]any{}
	for i, d := range t.Dependencies {
		own := map[string]any{}
		if t.subs[i] != nil {
			own = t.subs[i].values()
		}
		own["enabled"] = !d.Disabled
		values[d.Title()] = own
	}
	return values
}

func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // the values of this package can always be encoded
	}
	return string(text)
}

// fileWriter creates the files of a chart.
type fileWriter struct {
	*rand.Rand
	files []*chartloader.BufferedFile
}

func (w *fileWriter) file(name, text string) {
	w.files = append(w.files, &chartloader.BufferedFile{Name: name, Data: []byte(text)})
}

func (w *fileWriter) chart(c *Chart, dir string) {
	version := map[bool]string{true: "v3", false: "v2"}[c.V3]
	text := fmt.Sprintf("apiVersion: %s\nname: %s\nversion: 1.2.3\n", version, c.Name)
	annotations := ""
	switch {
	case c.OptedIn:
		annotations += "  helm.sh/sequencing: enabled\n"
	case !c.V3 && dir == "": // otherwise install rejects a chart whose order is ignored
		annotations += "  helm.sh/sequencing: disabled\n"
	}
	if len(c.OwnAfter) > 0 {
		key := w.choose("helm.sh/depends-on/subcharts", "depends-on.helm.sh/subcharts")
		annotations += w.list("  ", key, c.OwnAfter)
	}
	if annotations != "" {
		text += "annotations:\n" + annotations
	}
	written := map[*Chart]bool{}
	for i, d := range c.Dependencies {
		if i == 0 {
			text += "dependencies:\n"
		}
		text += w.dependency(d)
		if !written[d.Chart] {
			written[d.Chart] = true
			w.chart(d.Chart, dir+"charts/"+d.Chart.Name+"/")
		}
	}
	w.file(dir+"Chart.yaml", text)
	w.file(dir+"templates/hook.yaml", w.object(&Resource{Kind: "Job", Name: "hook", Layer: "hooks"}, "    helm.sh/hook: pre-install\n"))
	w.templates(c, dir)
}

func (w *fileWriter) dependency(d *Dependency) string {
	text := fmt.Sprintf("- name: %s\n  version: '%s'\n  condition: %s.enabled\n", d.Chart.Name, w.choose("1.2.3", "~1.2.0", ">=1.0.0"), d.Title())
	if d.Alias != "" {
		text += "  alias: " + d.Alias + "\n"
	}
	if len(d.Tags) > 0 {
		text += "  tags: [" + strings.Join(d.Tags, ", ") + "]\n"
	}
	if len(d.After) > 0 {
		text += w.list("  ", "depends-on", d.After)
	}
	return text
}

// templates writes the resources of c to files with up to three resources each, which are
// either separate documents or the items of a List.
func (w *fileWriter) templates(c *Chart, dir string) {
	for i := 0; i < len(c.Resources); {
		n := min(1+w.IntN(3), len(c.Resources)-i)
		var text string
		if w.IntN(4) == 0 {
			text = "apiVersion: v1\nkind: List\nitems:\n"
			for _, r := range c.Resources[i : i+n] {
				text += "- " + strings.TrimSuffix(strings.ReplaceAll(w.object(r, ""), "\n", "\n  "), "  ")
			}
		} else {
			for _, r := range c.Resources[i : i+n] {
				text += "---\n" + w.choose("# a comment\n", "") + w.object(r, "")
			}
		}
		w.file(fmt.Sprintf("%stemplates/%d.yaml", dir, i), text)
		i += n
	}
}

// object returns r as YAML. annotations are additional lines of YAML.
func (w *fileWriter) object(r *Resource, annotations string) string {
	if r.Layer != "" {
		annotations += fmt.Sprintf("    %s: %s\n", w.choose("helm.sh/layer", "helm.sh/resource-group"), r.Layer)
	}
	if len(r.After) > 0 {
		annotations += w.list("    ", w.choose(
			"helm.sh/depends-on/layers", "helm.sh/depends-on/resource-groups",
			"depends-on.helm.sh/layers", "depends-on.helm.sh/resource-groups"), r.After)
	}
	switch {
	case annotations != "":
		annotations = "  annotations:\n" + annotations
	case w.IntN(3) == 0:
		annotations = w.choose("  annotations:\n", "  annotations: {}\n", "  annotations: null\n", "  annotations:\n    a: b # c\n")
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: '{{ .Template.BasePath | dir | replace \"/\" \".\" }}.%s'\n%s",
		map[bool]string{true: "example.com/v1", false: "v1"}[r.Kind == "Widget"], r.Kind, r.Name, annotations)
}

// list returns YAML for an annotation or field whose value is a list of names, in one of the
// accepted forms.
func (w *fileWriter) list(indent, key string, names []string) string {
	switch w.IntN(5) {
	case 0:
		return fmt.Sprintf("%s%s: [%s] # why\n", indent, key, strings.Join(names, ", "))
	case 1:
		return fmt.Sprintf("%s%s:\n%s- %s\n", indent, key, indent, strings.Join(names, "\n"+indent+"- "))
	case 2:
		return fmt.Sprintf("%s%s: '%s'\n", indent, key, jsonOf(names))
	case 3:
		return fmt.Sprintf("%s%q: [%q]\n", indent, key, strings.Join(names, ", "))
	}
	return fmt.Sprintf("%s%s: %s\n", indent, key, strings.Join(names, ","))
}

// choose returns one of the texts at random.
func (w *fileWriter) choose(of ...string) string { return of[w.IntN(len(of))] }
