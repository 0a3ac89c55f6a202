// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox

import "github.com/ordered-helm/helm/internal/luasandbox/luacompile"

// Functions returns the names of the functions that a permission provides, by the table in which they are.
func (p Permission) Functions() map[string][]string {
	switch p {
	case Network:
		return map[string][]string{"http": {"get", "request"}}
	case Filesystem:
		return map[string][]string{"io": {"lines", "open"}, "os": {"remove", "rename"}}
	case Environment:
		return map[string][]string{"os": {"getenv"}}
	case Cluster:
		return map[string][]string{"cluster": {"get", "list"}}
	}
	return nil
}

// Uses returns the line in which a script first uses what a permission provides, or 0 if it does not use it.
// A local variable with the name of such a table counts as well. An invalid script uses nothing.
func Uses(file, source string, p Permission) int {
	used, err := luacompile.Uses(file, source)
	if err != nil {
		return 0
	}
	first := 0
	note := func(name string) {
		if line := used[name]; line > 0 && (first == 0 || line < first) {
			first = line
		}
	}
	for table, functions := range p.Functions() {
		if table != "os" { // of which other permissions provide a part
			note(table)
		}
		for _, function := range functions {
			note(table + "." + function)
		}
	}
	return first
}
