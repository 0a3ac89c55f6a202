// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/ordered-helm/helm/test/binaries"
)

// notOurs contains the annotation keys in the code that stock Helm defines, and those that only helm
// package writes.
var notOurs = []string{"helm.sh/resource-policy", "helm.sh/libraries", "helm.sh/library-copy", "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"}

// chartFields contains the fields that Ordered Helm adds to Chart.yaml.
var chartFields = []string{"depends-on", "hookScope", "runHooksInParallel"}

// TestKeysAreDocumented checks that the annotation keys and fields in the code are those that
// have a page.
func TestKeysAreDocumented(t *testing.T) {
	want := slices.Clone(chartFields)
	for _, file := range goFiles(t, "internal/annotation") {
		for _, spec := range constants(t, file) {
			if strings.Contains(spec, "helm.sh/") && !slices.Contains(notOurs, spec) {
				want = append(want, spec)
			}
		}
	}
	var got []string
	for _, page := range pagesIn(t, "docs/annotations/") {
		got = append(got, row(t, page, "keys")...)
	}
	wantSame(t, "keys", got, want)
}

// TestFlagsAreDocumented checks that the flags and environment variables that the help texts
// mark as additions of Ordered Helm are those that have a page.
func TestFlagsAreDocumented(t *testing.T) {
	t.Parallel()
	const mark = "[not in stock Helm]"
	var wantFlags, wantVariables []string
	variable := regexp.MustCompile(`\$(HELM_[A-Z_]+)`)
	flag := regexp.MustCompile(`^ +(?:-\w, +)?--([a-z-]+)`)
	for line := range strings.Lines(help(t)) {
		if m := variable.FindStringSubmatch(line); m != nil && strings.Contains(line, mark) {
			wantVariables = append(wantVariables, m[1])
		}
	}
	// The flags of these commands of Ordered Helm are additions unless the similar command of
	// stock Helm has them.
	like := map[string]string{"dag": "template", "drift": "env", "plan": "upgrade", "schema": "env", "state init": "env", "state migrate": "env", "state status": "env"}
	for _, command := range append(commandsOf(t), "search repo", "state init", "state migrate", "state status") {
		known := map[string]bool{"help": true}
		if like[command] != "" {
			for line := range strings.Lines(help(t, like[command])) {
				if m := flag.FindStringSubmatch(line); m != nil {
					known[m[1]] = true
				}
			}
		}
		for line := range strings.Lines(help(t, strings.Fields(command)...)) {
			m := flag.FindStringSubmatch(line)
			if len(m) == 2 && (strings.Contains(line, mark) || like[command] != "" && !known[m[1]]) {
				wantFlags = append(wantFlags, command+" --"+m[1])
			}
		}
	}
	var flags, variables []string
	for _, page := range pagesIn(t, "docs/flags/") {
		for _, command := range row(t, page, "commands") {
			for _, flag := range row(t, page, "flags") {
				flags = append(flags, command+" "+flag)
			}
		}
		variables = append(variables, row(t, page, "environment")...)
	}
	wantSame(t, "flags", flags, wantFlags)
	for _, name := range wantVariables {
		if !slices.Contains(variables, name) {
			t.Errorf("no page of docs/flags/ has %s in its row environment", name)
		}
	}
}

func help(t *testing.T, command ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binaries.Get(t).Helm, append(command, "--help")...).CombinedOutput()
	if err != nil {
		t.Fatalf("helm %s --help: %v\n%s", command, err, out)
	}
	return string(out)
}

// commandsOf returns the commands of helm.
func commandsOf(t *testing.T) []string {
	t.Helper()
	_, list, _ := strings.Cut(help(t), "Available Commands:\n")
	var names []string
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			break
		}
		names = append(names, fields[0])
	}
	if len(names) < 10 {
		t.Fatalf("only the commands %q were found", names)
	}
	return names
}

// pagesIn returns the names of the pages in a directory.
func pagesIn(t *testing.T, folder string) []string {
	t.Helper()
	found := slices.DeleteFunc(pages(t), func(name string) bool { return !strings.HasPrefix(name, folder) })
	if len(found) == 0 {
		t.Fatalf("%s has no pages", folder)
	}
	return found
}

// row returns the texts in backquotes in the row with a name in the table at the top of a
// page.
func row(t *testing.T, page, name string) []string {
	t.Helper()
	for line := range strings.Lines(read(t, page)) {
		if cells, is := strings.CutPrefix(line, "| "+name+" | "); is {
			return quoted(cells)
		}
	}
	return nil
}

func quoted(text string) []string {
	var found []string
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			found = append(found, part)
		}
	}
	return found
}

func wantSame(t *testing.T, what string, got, want []string) {
	t.Helper()
	for _, one := range want {
		if !slices.Contains(got, one) {
			t.Errorf("no page is about %s, which is one of the %s", one, what)
		}
	}
	for _, one := range got {
		if !slices.Contains(want, one) {
			t.Errorf("a page is about %s, which is none of the %s", one, what)
		}
	}
}

// TestDocumentedMessagesExist checks that the messages that pages quote occur in the code, or
// in the output on other pages.
func TestDocumentedMessagesExist(t *testing.T) {
	var texts []string
	for _, dir := range []string{"cmd", "internal", "pkg"} {
		for _, file := range goFiles(t, dir) {
			texts = append(texts, stringsIn(t, file)...)
		}
	}
	for _, name := range pages(t) {
		for _, s := range parsePage(t, name).Steps {
			texts = append(texts, strings.Join(s.Output, "\n"))
		}
	}
	count := 0
	for _, name := range pages(t) {
		for _, message := range messages(t, name) {
			count++
			if !slices.ContainsFunc(texts, func(text string) bool { return says(text, message) }) {
				t.Errorf("%s quotes %q, which the code does not say", name, message)
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d messages are quoted", count)
	}
}

// messages returns the error messages that a page quotes: in the headings of the
// troubleshooting page, and in the last column of tables of errors.
func messages(t *testing.T, name string) []string {
	t.Helper()
	var found []string
	mistakes := false
	for line := range strings.Lines(read(t, name)) {
		line = strings.TrimSpace(line)
		switch heading, is := strings.CutPrefix(line, "### "); {
		case is && name == "docs/troubleshooting.md":
			found = append(found, quoted(heading)...)
		case strings.HasPrefix(line, "#"):
			mistakes = line == "## Mistakes"
		case mistakes && strings.HasPrefix(line, "| "):
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			found = append(found, quoted(cells[len(cells)-1])...)
		}
	}
	return found
}

// says reports whether a text contains the parts of a message, which its placeholders
// separate, in this order.
func says(text, message string) bool {
	for part := range strings.SplitSeq(message, wildcard) {
		_, rest, found := strings.Cut(text, strings.TrimSpace(part))
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// goFiles returns the Go files in a directory of the repository, without tests.
func goFiles(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(filepath.Join(binaries.Root(t), dir), func(file string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
			files = append(files, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func parseGo(t *testing.T, file string) *ast.File {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// constants returns the values of the string constants in a file.
func constants(t *testing.T, file string) []string {
	t.Helper()
	var found []string
	for _, decl := range parseGo(t, file).Decls {
		if group, is := decl.(*ast.GenDecl); is && group.Tok == token.CONST {
			for _, spec := range group.Specs {
				for _, value := range spec.(*ast.ValueSpec).Values {
					if text, is := stringOf(value); is {
						found = append(found, text)
					}
				}
			}
		}
	}
	return found
}

// stringsIn returns the values of all string literals in a Go file. Concatenated literals are
// one string.
func stringsIn(t *testing.T, file string) []string {
	t.Helper()
	var found []string
	ast.Inspect(parseGo(t, file), func(n ast.Node) bool {
		expression, is := n.(ast.Expr)
		if !is {
			return true
		}
		text, is := stringOf(expression)
		if is {
			found = append(found, text)
		}
		return !is
	})
	return found
}

func stringOf(expression ast.Expr) (string, bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		left, isLeft := stringOf(e.X)
		right, isRight := stringOf(e.Y)
		return left + right, e.Op == token.ADD && isLeft && isRight
	}
	return "", false
}

// TestLinks checks that the links between pages lead to existing files and headings.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	root := binaries.Root(t)
	for _, page := range append(pages(t), notPages...) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := page
			if target != "" {
				file = filepath.ToSlash(filepath.Join(filepath.Dir(page), target))
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s: the link %s leads nowhere", page, m[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, file)), anchor) {
				t.Errorf("%s: the link %s leads to no heading", page, m[1])
			}
		}
	}
}

// anchors returns the anchors of the headings of a page, as GitHub generates them.
func anchors(text string) []string {
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	var found []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := dropped.ReplaceAllString(strings.ToLower(m[1]), "")
		found = append(found, strings.ReplaceAll(name, " ", "-"))
	}
	return found
}

// TestDocumentedOrderOfKinds checks that the order of kinds in docs/how-it-works.md is the
// order in which Helm installs kinds.
func TestDocumentedOrderOfKinds(t *testing.T) {
	var want []string
	for _, kind := range releaseutil.InstallOrder {
		if !strings.HasSuffix(kind, "List") {
			want = append(want, kind)
		}
	}
	_, text, _ := strings.Cut(read(t, "docs/how-it-works.md"), "```text\n")
	text, _, _ = strings.Cut(text, "```")
	if got := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestEveryPageIsListed checks that docs/README.md lists each page.
func TestEveryPageIsListed(t *testing.T) {
	index := read(t, "docs/README.md")
	for _, page := range append(pages(t), notPages...) {
		if name, is := strings.CutPrefix(page, "docs/"); is && name != "README.md" && !strings.Contains(index, "("+name+")") {
			t.Errorf("docs/README.md has no link to %s", name)
		}
	}
}

// section returns the text of a section of a page, from its heading to the next one.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, text, found := strings.Cut(read(t, page), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", page, heading)
	}
	text, _, _ = strings.Cut(text, "\n#")
	return text
}

// firstCells returns the texts in backquotes in the first cells of the tables in a text.
func firstCells(text string) []string {
	var found []string
	for line := range strings.Lines(text) {
		if cells, is := strings.CutPrefix(line, "| "); is {
			first, _, _ := strings.Cut(cells, " | ")
			found = append(found, quoted(first)...)
		}
	}
	return found
}

// TestControllerFlagsAreDocumented compares the flags of helm-controller with the reference.
func TestControllerFlagsAreDocumented(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), binaries.Get(t).Controller, "--help").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^ +(--[a-z-]+)`).FindAllStringSubmatch(string(out), -1) {
		want = append(want, m[1])
	}
	wantSame(t, "flags of helm-controller", firstCells(section(t, "docs/reference.md", "### Flags of helm-controller")), want)
}

// controllerDir is the directory of the module of the controller.
const controllerDir = "cmd/helm-controller/"

// TestFilesInArchives checks that scripts/dist.sh copies the files of which docs/reference.md says that they are in the
// archives of releases.
func TestFilesInArchives(t *testing.T) {
	t.Parallel()
	copied := strings.Fields(regexp.MustCompile(`(?m)^\tcp -R (.*) "dist/\$name/"$`).FindString(read(t, "scripts/dist.sh")))
	for name, file := range map[string]string{
		"definition of the kind Chart": "docs/crds/charts.helm.sh.yaml", "JSON schema of order files": "docs/schemas/order.schema.json",
		"JSON schema of ignore files": "docs/schemas/ignore.schema.json",
	} {
		t.Run(name, func(t *testing.T) {
			read(t, file)
			if !strings.Contains(read(t, "docs/reference.md"), "`"+file+"`, in the repository and in the archives of releases") {
				t.Errorf("docs/reference.md does not say where %s is", file)
			}
			if !slices.Contains(copied, filepath.ToSlash(filepath.Dir(file))) {
				t.Errorf("scripts/dist.sh copies %q, and not %s", copied, file)
			}
		})
	}
}

// TestReasonsAreDocumented compares the reasons of the conditions of HelmRequests in the code with the reference.
func TestReasonsAreDocumented(t *testing.T) {
	t.Parallel()
	reason := regexp.MustCompile(`^[A-Z][A-Za-z]+$`)
	var want []string
	for _, file := range []string{"internal/decision/decision.go", "internal/chartsource/chartsource.go", "internal/controller/failure.go"} {
		for _, value := range constants(t, filepath.Join(binaries.Root(t), controllerDir, file)) {
			if reason.MatchString(value) && value != "Suspended" {
				want = append(want, value)
			}
		}
	}
	// These are no constants.
	want = append(want, "Installing", "Upgrading", "RollingBack", "Uninstalling", "ValuesNotFound", "InvalidValues")
	_, table, _ := strings.Cut(section(t, "docs/reference.md", "### Status"), "**Reasons.**")
	_, table, _ = strings.Cut(table, "| --- ")
	wantSame(t, "reasons", firstCells(table), want)
}

// TestFieldsOfHelmRequestAreDocumented compares the fields of spec and status in the definition with the reference.
func TestFieldsOfHelmRequestAreDocumented(t *testing.T) {
	t.Parallel()
	definition := read(t, controllerDir+"chart/templates/helm.sh_helmrequests.yaml")
	for field, heading := range map[string]string{"spec": "### Fields of spec", "status": "### Status"} {
		_, text, _ := strings.Cut(definition, "\n          "+field+":\n")
		text, _, _ = strings.Cut(text, "\n            type: object\n")
		var want []string
		for _, m := range regexp.MustCompile(`(?m)^              ([A-Za-z]+):$`).FindAllStringSubmatch(text, -1) {
			want = append(want, m[1])
		}
		if len(want) == 0 {
			t.Errorf("no fields of %s were found", field)
		}
		documented, _, _ := strings.Cut(section(t, "docs/reference.md", heading), "\n\nThe ") // the first table
		wantSame(t, "fields of "+field, firstCells(documented), want)
	}
}
