// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartscripts

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/luasandbox"
	"github.com/ordered-helm/helm/internal/similar"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// maxPermissionsBytes is the maximum size of a PermissionsFile.
const maxPermissionsBytes = 64 << 10

// AllPermissions returns all permissions.
func AllPermissions() []luasandbox.Permission {
	return []luasandbox.Permission{luasandbox.Network, luasandbox.Filesystem, luasandbox.Environment, luasandbox.Cluster}
}

// Description says what scripts can do with a permission.
func Description(p luasandbox.Permission) string {
	switch p {
	case luasandbox.Network:
		return "Access the network"
	case luasandbox.Filesystem:
		return "Access the local filesystem"
	case luasandbox.Environment:
		return "Read environment variables"
	case luasandbox.Cluster:
		return "Read objects in the cluster, except Secrets"
	}
	return string(p)
}

// ParsePermission returns the permission with a name.
func ParsePermission(name string) (luasandbox.Permission, error) {
	names := make([]string, 0, len(AllPermissions()))
	for _, p := range AllPermissions() {
		if string(p) == name {
			return p, nil
		}
		names = append(names, string(p))
	}
	if nearest := similar.Nearest(name, names); nearest != "" {
		return "", fmt.Errorf("there is no permission %q: did you mean %q?", name, nearest)
	}
	return "", fmt.Errorf("there is no permission %q: must be one of %s", name, strings.Join(names, ", "))
}

// readPermissions returns the permissions for which the PermissionsFile of a chart asks.
func readPermissions(ch *chart.Chart, at string) ([]luasandbox.Permission, error) {
	i := slices.IndexFunc(ch.Files, func(f *chart.File) bool { return f != nil && f.Name == PermissionsFile })
	if i < 0 {
		return nil, nil
	}
	permissions, line, err := parsePermissions(string(ch.Files[i].Data))
	if err != nil {
		return nil, &FileError{path.Join(at, PermissionsFile), line, err}
	}
	return permissions, nil
}

// parsePermissions parses a PermissionsFile. If it is invalid, it returns the line of the mistake, or 0.
func parsePermissions(text string) (permissions []luasandbox.Permission, line int, err error) {
	if len(text) > maxPermissionsBytes {
		return nil, 0, fmt.Errorf("has %d bytes: can have at most %d", len(text), maxPermissionsBytes)
	}
	if err := yamledit.CheckAliases(text); err != nil {
		return nil, 0, err
	}
	root, err := yamledit.Parse(text)
	if err != nil {
		return nil, 0, err
	}
	if root == nil {
		return nil, 0, nil
	}
	if line := secondDocument(text); line > 0 {
		return nil, line, errors.New("must contain one YAML document")
	}
	root = yamledit.Resolve(root)
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		root = yamledit.Resolve(root.Content[0])
	}
	if root.Kind != yaml.MappingNode {
		return nil, root.Line, errors.New(`must contain a list of permissions, as in "lua: [network]"`)
	}
	for i := 0; i < len(root.Content); i += 2 {
		if key := root.Content[i]; key.Value != "lua" {
			return nil, key.Line, fmt.Errorf(`unknown field %q: the permissions of scripts are in the list "lua"`, key.Value)
		}
	}
	if len(root.Content) > 2 {
		return nil, root.Content[2].Line, errors.New(`the field "lua" is given twice`)
	}
	if len(root.Content) == 0 {
		return nil, 0, nil
	}
	return permissionList(yamledit.Resolve(root.Content[1]))
}

// secondDocument returns the line of the second YAML document in a text, or 0 if there is none.
func secondDocument(text string) int {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var first, second yaml.Node
	if decoder.Decode(&first) != nil || decoder.Decode(&second) != nil {
		return 0
	}
	return second.Line
}

func permissionList(list *yaml.Node) (permissions []luasandbox.Permission, line int, err error) {
	if list.Kind == yaml.ScalarNode && list.ShortTag() == "!!null" {
		return nil, 0, nil
	}
	if list.Kind != yaml.SequenceNode {
		return nil, list.Line, errors.New(`must be a list of permissions, as in "lua: [network]"`)
	}
	for _, item := range list.Content {
		item = yamledit.Resolve(item)
		if item.Kind != yaml.ScalarNode {
			return nil, item.Line, errors.New("a permission must be a name, as in \"lua: [network]\"")
		}
		p, err := ParsePermission(item.Value)
		if err != nil {
			return nil, item.Line, err
		}
		if !slices.Contains(permissions, p) {
			permissions = append(permissions, p)
		}
	}
	return permissions, 0, nil
}
