// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

// Any matches every request. Functions like this select the requests for a rule; see Only.
func Any(Request) bool { return true }

// Reads matches get and list requests.
func Reads(what Request) bool {
	return what.Resource != "" && (what.Verb == "get" || what.Verb == "list")
}

// Watches matches watch requests.
func Watches(what Request) bool { return what.Verb == "watch" }

// Writes matches requests that change objects. It does not match reviews, such as access
// reviews, which are create requests but store nothing.
func Writes(what Request) bool {
	switch what.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return what.Resource != "" && what.Group != "authorization.k8s.io" && what.Group != "authentication.k8s.io"
	}
	return false
}

// Resumed matches watches that start at a given resource version.
func Resumed(what Request) bool {
	return Watches(what) && what.Query.Get("resourceVersion") != ""
}

// AnyVersion matches reads that accept data of any age: those whose resourceVersion is 0.
func AnyVersion(what Request) bool {
	return Reads(what) && what.Query.Get("resourceVersion") == "0"
}
