// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package externalneed defines external dependencies: objects and releases outside of a release
// that must be ready before parts of it are deployed (docs/reference.md, "External
// dependencies"). It reads and writes their textual form. Package externalwait waits for them.
package externalneed

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Need is an object or a release outside of a release that must be ready before something of the
// release is deployed.
type Need struct {
	// Release says that the need is a release. Group and Kind are then empty.
	Release bool
	// Group is the API group of Kind. If it is empty, the group is that of the built-in kind with
	// this name or, if there is none, the only group with this kind.
	Group, Kind string
	// Namespace is empty for the namespace of the release, and for cluster-scoped objects.
	Namespace string
	Name      string
}

const (
	// Form describes the textual form of a Need to users.
	Form = "KIND[.GROUP]/[NAMESPACE/]NAME or release:[NAMESPACE/]NAME"

	releasePrefix = "release:"
	// maxReleaseName is the maximum length of the name of a release in Helm.
	maxReleaseName = 53
	// maxParts is the number of parts, separated by slashes, of the longest form.
	maxParts = 3
)

// ParseError reports a text that is not the textual form of a Need.
type ParseError struct {
	Text string
	// Reason says what is wrong, and how to correct it. In messages, it follows the text.
	Reason string
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("external dependency %q: %s", e.Text, e.Reason)
}

// Parse reads the textual form of a Need (see Form). Its error is a *ParseError.
func Parse(text string) (Need, error) {
	n, reason := parse(strings.TrimSpace(text))
	if reason != "" {
		return Need{}, &ParseError{Text: text, Reason: reason}
	}
	return n, nil
}

// parse is Parse, but returns what is wrong instead of an error.
func parse(text string) (n Need, reason string) {
	if rest, isRelease := strings.CutPrefix(text, releasePrefix); isRelease {
		n.Release = true
		reason = n.setName("a release", strings.Split(rest, "/"))
		return n, reason
	}
	kind, rest, found := strings.Cut(text, "/")
	if !found {
		return Need{}, "must have the form " + Form + `, as in "Secret/registry"`
	}
	n.Kind, n.Group, _ = strings.Cut(kind, ".")
	if reason = n.kindProblem(strings.Contains(kind, ".")); reason == "" {
		reason = n.setName("an object", strings.Split(rest, "/"))
	}
	return n, reason
}

// setName sets the namespace and the name, which are the parts of a text that slashes separate.
// what is what the need is, for messages.
func (n *Need) setName(what string, parts []string) (reason string) {
	if len(parts) >= maxParts {
		return fmt.Sprintf("has too many slashes: the form is %s, without an API version", Form)
	}
	n.Name = parts[len(parts)-1]
	if len(parts) > 1 {
		n.Namespace = parts[0]
		if len(validation.IsDNS1123Label(n.Namespace)) > 0 {
			return fmt.Sprintf("%q is not the name of a namespace: it must have at most %d lower-case letters, digits and -, and begin and end with a letter or digit",
				n.Namespace, validation.DNS1123LabelMaxLength)
		}
	}
	if len(validation.IsDNS1123Subdomain(n.Name)) > 0 || n.Release && len(n.Name) > maxReleaseName {
		limit := validation.DNS1123SubdomainMaxLength
		if n.Release {
			limit = maxReleaseName
		}
		return fmt.Sprintf("%q is not the name of %s: it must have at most %d lower-case letters, digits, - and ., and begin and end with a letter or digit",
			n.Name, what, limit)
	}
	return ""
}

// kindName matches the name of a kind.
var kindName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)

// apiVersion matches the version of an API, which is sometimes written instead of the group.
var apiVersion = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// kindProblem returns what is wrong with the kind and the group, or "". hasGroup says whether a
// group is written, even if it is empty.
func (n *Need) kindProblem(hasGroup bool) string {
	switch {
	case !kindName.MatchString(n.Kind) && n.Kind != "" && strings.ToLower(n.Kind[:1]) == n.Kind[:1]:
		return fmt.Sprintf(`%q is not a kind: kinds begin with a capital letter, as in "Deployment"; the form is %s`, n.Kind, Form)
	case !kindName.MatchString(n.Kind):
		return fmt.Sprintf("%q is not a kind: it must have at most 63 letters and digits; the form is %s", n.Kind, Form)
	case apiVersion.MatchString(n.Group):
		return fmt.Sprintf("%q is an API version: write the kind with its API group or alone, as in Deployment.apps or Deployment", n.Group)
	case hasGroup && len(validation.IsDNS1123Subdomain(n.Group)) > 0:
		return fmt.Sprintf(`%q is not an API group, as in "cert-manager.io"; the form is %s`, n.Group, Form)
	}
	return ""
}

// String returns the canonical text, which Parse reads.
func (n Need) String() string {
	name := n.Name
	if n.Namespace != "" {
		name = n.Namespace + "/" + name
	}
	if n.Release {
		return releasePrefix + name
	}
	return n.KindAndGroup() + "/" + name
}

// KindAndGroup returns the kind, with the group if there is one, as in "Deployment.apps".
func (n Need) KindAndGroup() string {
	if n.Group == "" {
		return n.Kind
	}
	return n.Kind + "." + n.Group
}
