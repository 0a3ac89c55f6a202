// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartformat

import (
	"path"
	"strings"
)

// ScriptsDirectory is the directory of a chart that contains its scripts, with a slash at the end.
const ScriptsDirectory = "ext/lua/"

// IsScript reports whether a file of a chart is a script. Files in directories below ScriptsDirectory
// are not.
func IsScript(name string) bool {
	base, isBelow := strings.CutPrefix(name, ScriptsDirectory)
	return isBelow && !strings.Contains(base, "/") && path.Ext(base) == ".lua"
}
