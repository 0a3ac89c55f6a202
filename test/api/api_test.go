// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package api checks that the Go packages of Ordered Helm can replace Helm's packages of the
// same name: a program that changes the prefix of its imports must find every exported name,
// and must be able to use it as before.
package api

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const (
	helms = "helm.sh/helm/v3/pkg/"
	ours  = module + "pkg/"
	// module is the prefix of our packages.
	module = "github.com/ordered-helm/helm/"
)

// TestPackagesMatchHelmAPI checks that our packages have every exported name of Helm's
// packages, with a compatible type.
func TestPackagesMatchHelmAPI(t *testing.T) {
	for _, path := range []string{"action", "chart/loader"} {
		t.Run(path, func(t *testing.T) {
			pair := load(t, helms+path, ours+path)
			for _, problem := range compare(pair[0], pair[1]) {
				t.Error(problem)
			}
		})
	}
}

// TestComparisonFindsDifferences checks that the comparison reports all kinds of differences,
// with the packages in testdata.
func TestComparisonFindsDifferences(t *testing.T) {
	pair := load(t, "./testdata/theirs", "./testdata/ours")
	want := []string{
		"Alike.B is not a field of its own: literals with it do not compile",
		"Constant is 2, not 1",
		"Function: func(int), not func(string)",
		"Gone is missing",
		"Interface: interface{Do()}, not interface{Do(); Undo()}",
		"Literal.B is not a field of its own: literals with it do not compile",
		"Options.Less is missing",
		"Options.Run: func(...int), not func([]int)",
		"Options.Stay is missing",
		"Options.Timeout: int, not string",
		"Value: int, not string",
	}
	if got := compare(pair[0], pair[1]); !slices.Equal(got, want) {
		t.Errorf("found:\n%s\nnot:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func load(t *testing.T, patterns ...string) [2]*types.Package {
	t.Helper()
	config := &packages.Config{
		Context: t.Context(),
		Mode:    packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedExportFile,
	}
	var pair [2]*types.Package
	for i, pattern := range patterns {
		found, err := packages.Load(config, pattern)
		if err != nil {
			t.Fatal(err)
		}
		if packages.PrintErrors(found) > 0 || len(found) != 1 {
			t.Fatalf("%s cannot be loaded", pattern)
		}
		pair[i] = found[0].Types
	}
	return pair
}

// comparison compares one of our packages with the Helm package that it replaces. Types are
// compared as texts, in which both packages have the same name.
type comparison struct {
	theirs, ours *types.Package
	problems     []string
}

func compare(theirs, ours *types.Package) []string {
	c := &comparison{theirs: theirs, ours: ours}
	for _, name := range theirs.Scope().Names() {
		if !ast.IsExported(name) {
			continue
		}
		object := ours.Scope().Lookup(name)
		if object == nil {
			c.add("%s is missing", name)
			continue
		}
		c.object(theirs.Scope().Lookup(name), object)
	}
	slices.Sort(c.problems)
	return c.problems
}

func (c *comparison) add(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *comparison) object(want, got types.Object) {
	name := want.Name()
	if value, ok := want.(*types.Const); ok {
		if have, ok := got.(*types.Const); !ok {
			c.add("%s is no constant", name)
		} else if have.Val().ExactString() != value.Val().ExactString() {
			c.add("%s is %v, not %v", name, have.Val(), value.Val())
		}
	}
	declared, isType := want.(*types.TypeName)
	if !isType {
		c.sameType(name, want.Type(), got.Type())
		return
	}
	if _, ok := got.(*types.TypeName); !ok {
		c.add("%s is no type", name)
		return
	}
	if types.Identical(types.Unalias(want.Type()), types.Unalias(got.Type())) {
		return
	}
	if structure, ok := declared.Type().Underlying().(*types.Struct); ok {
		c.fields(name, structure, got.Type())
	} else {
		c.sameType(name, want.Type().Underlying(), got.Type().Underlying())
	}
	c.methods(name, want.Type(), got.Type())
}

// fields checks that the struct got has every exported field of want, with the same type. If
// all fields of want are exported, it also checks that composite literals without field names
// compile.
func (c *comparison) fields(name string, want *types.Struct, got types.Type) {
	literal := true
	for field := range want.Fields() {
		literal = literal && field.Exported()
	}
	for field := range want.Fields() {
		if !field.Exported() {
			continue
		}
		full := name + "." + field.Name()
		object, index, _ := types.LookupFieldOrMethod(got, true, c.ours, field.Name())
		if object == nil {
			c.add("%s is missing", full)
			continue
		}
		if literal && len(index) > 1 {
			c.add("%s is not a field of its own: literals with it do not compile", full)
		}
		c.sameType(full, field.Type(), object.Type())
	}
}

func (c *comparison) methods(name string, want, got types.Type) {
	for method := range types.NewMethodSet(types.NewPointer(want)).Methods() {
		if !method.Obj().Exported() {
			continue
		}
		full := name + "." + method.Obj().Name()
		object, _, _ := types.LookupFieldOrMethod(got, true, c.ours, method.Obj().Name())
		if object == nil {
			c.add("%s is missing", full)
			continue
		}
		c.sameType(full, method.Obj().Type(), object.Type())
	}
}

func (c *comparison) sameType(name string, want, got types.Type) {
	if w, g := c.text(want), c.text(got); w != g {
		c.add("%s: %s, not %s", name, g, w)
	}
}

// text returns a type as text, without the names of parameters.
func (c *comparison) text(t types.Type) string {
	if signature, ok := t.(*types.Signature); ok {
		t = unnamed(signature)
	}
	text := types.TypeString(t, func(p *types.Package) string {
		if p.Path() == c.theirs.Path() || p.Path() == c.ours.Path() {
			return "="
		}
		return p.Path()
	})
	for name, target := range c.aliases() {
		text = strings.ReplaceAll(text, target, name)
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "=.", ""), "interface{}", "any")
}

// aliases returns the types of our other packages by the names that our package gives them, which are their names for
// those who use the package.
func (c *comparison) aliases() map[string]string {
	aliases := map[string]string{}
	for _, name := range c.ours.Scope().Names() {
		object, isType := c.ours.Scope().Lookup(name).(*types.TypeName)
		if !isType || !object.IsAlias() {
			continue
		}
		if target, isNamed := types.Unalias(object.Type()).(*types.Named); isNamed && target.Obj().Name() == name && target.TypeArgs().Len() == 0 {
			if path := target.Obj().Pkg().Path(); strings.HasPrefix(path, module) {
				aliases[name] = path + "." + name
			}
		}
	}
	return aliases
}

func unnamed(s *types.Signature) *types.Signature {
	tuple := func(t *types.Tuple) *types.Tuple {
		var list []*types.Var
		for v := range t.Variables() {
			kind := v.Type()
			if inner, ok := kind.(*types.Signature); ok {
				kind = unnamed(inner)
			}
			list = append(list, types.NewParam(0, nil, "", kind))
		}
		return types.NewTuple(list...)
	}
	return types.NewSignatureType(nil, nil, nil, tuple(s.Params()), tuple(s.Results()), s.Variadic())
}
