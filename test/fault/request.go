// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"net/http"
	"net/url"
	"strings"
)

// Request describes a request to an API server in Kubernetes terms.
type Request struct {
	// Verb is get, list, watch, create, update, patch, delete or deletecollection. If the path
	// is not that of a resource, Verb is the HTTP method in lower case.
	Verb string
	// Path and Query are the path and the query of the URL.
	Path  string
	Query url.Values
	// Group, Resource and Subresource identify the type of the object. They are empty if the
	// path is not that of a resource.
	Group, Resource, Subresource string
	// Namespace and Name identify the object. Name is empty for lists, Namespace for
	// cluster-scoped objects.
	Namespace, Name string
	// Code is the HTTP status of the server's response. It is 0 before the response, and if
	// the request was not forwarded.
	Code int
}

// describe returns the Request that describes an HTTP request.
func describe(r *http.Request) Request {
	d := Request{Verb: strings.ToLower(r.Method), Path: r.URL.Path, Query: r.URL.Query()}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		d.Group, parts = parts[1], parts[3:]
	default:
		return d
	}
	if len(parts) > 2 && parts[0] == "namespaces" && !isNamespacePart(parts[2]) {
		d.Namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	d.Resource, d.Name, d.Subresource = parts[0], parts[1], parts[2]
	d.Verb = d.verb(r.Method)
	return d
}

// isNamespacePart reports whether the part of a path after the name of a namespace is a
// subresource of the namespace. Otherwise it is a resource in the namespace.
func isNamespacePart(part string) bool { return part == "status" || part == "finalize" }

func (d Request) verb(method string) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if d.Name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	switch watch := d.Query.Get("watch"); {
	case watch == "true" || watch == "1":
		return "watch"
	case d.Name == "":
		return "list"
	}
	return "get"
}
