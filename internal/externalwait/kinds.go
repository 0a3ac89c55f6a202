// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package externalwait

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/externalneed"
	"github.com/ordered-helm/helm/internal/timing"
)

// discoveryInterval is the minimum time between two refreshes of the discovery, while a kind is not
// served.
const discoveryInterval = 3 * time.Second

// errUnknownKind reports that the cluster does not serve a kind.
var errUnknownKind = errors.New("the cluster does not serve this kind")

// AmbiguousKindError reports that several API groups have a kind whose group a need does not name.
type AmbiguousKindError struct {
	Kind string
	// Groups are the groups, sorted.
	Groups []string
}

func (e *AmbiguousKindError) Error() string {
	return fmt.Sprintf("several API groups have the kind %s: %s; write the kind with its group, as in %s.%s",
		e.Kind, strings.Join(e.Groups, ", "), e.Kind, e.Groups[0])
}

// kinds finds the API resources of kinds, for all waits.
type kinds struct {
	// read reads the API resources that the cluster serves, each in the version that its group
	// prefers. If the discovery of some groups fails, it returns those of the others and an error.
	read func() ([]*metav1.APIResourceList, error)
	// appeared is called when the cluster serves a kind that it did not serve before.
	appeared func(context.Context, schema.GroupVersionKind) error

	// mu is held during requests, so that each is sent only once. lists and err are the results of
	// the last call of read, at the time at; it is zero before the first call.
	mu    sync.Mutex
	at    time.Time
	lists []*metav1.APIResourceList
	err   error
}

// newKinds returns kinds that uses its own discovery, because results that are cached elsewhere may
// be hours old. Its requests end only with the timeout of the client.
func newKinds(c *cluster.Connection) *kinds {
	return &kinds{
		read: func() ([]*metav1.APIResourceList, error) {
			client, err := c.Clientset()
			if err != nil {
				return nil, err
			}
			return client.Discovery().ServerPreferredResources()
		},
		appeared: func(ctx context.Context, kind schema.GroupVersionKind) error {
			return c.AwaitKinds(ctx, []schema.GroupVersionKind{kind})
		},
	}
}

// find returns the API resource of a need. If the kind is not known, it repeats the discovery,
// unless that was done less than discoveryInterval ago. due is when it can be repeated next. The
// error is errUnknownKind, an *AmbiguousKindError, or an error of the discovery.
func (k *kinds) find(n externalneed.Need) (mapping *meta.RESTMapping, due time.Time, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	mapping, err = k.known(n)
	if errors.Is(err, errUnknownKind) && (k.at.IsZero() || time.Since(k.at) >= discoveryInterval) {
		k.lists, k.err = k.read()
		k.at = time.Now()
		mapping, err = k.known(n)
	}
	if errors.Is(err, errUnknownKind) && k.err != nil {
		err = fmt.Errorf("API discovery: %w", k.err)
	}
	return mapping, k.at.Add(discoveryInterval), err
}

// known returns the API resource of a need, as of the last discovery. The caller must have locked mu.
func (k *kinds) known(n externalneed.Need) (*meta.RESTMapping, error) {
	var found []*meta.RESTMapping
	for _, list := range k.lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || n.Group != "" && gv.Group != n.Group {
			continue
		}
		for i := range list.APIResources {
			if r := &list.APIResources[i]; r.Kind == n.Kind && isReadable(r) {
				found = append(found, mappingOf(gv, r))
			}
		}
	}
	slices.SortStableFunc(found, func(a, b *meta.RESTMapping) int {
		return strings.Compare(a.Resource.Group, b.Resource.Group)
	})
	return choose(n.Kind, found)
}

// isReadable reports whether objects of an API resource can be read. It is false for subresources,
// and for resources such as reviews, which can only be created.
func isReadable(r *metav1.APIResource) bool {
	return !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "get")
}

func mappingOf(gv schema.GroupVersion, r *metav1.APIResource) *meta.RESTMapping {
	mapping := &meta.RESTMapping{Resource: gv.WithResource(r.Name), GroupVersionKind: gv.WithKind(r.Kind), Scope: meta.RESTScopeRoot}
	if r.Namespaced {
		mapping.Scope = meta.RESTScopeNamespace
	}
	return mapping
}

// choose returns the API resource that a kind means if several groups have it: that of a built-in
// group, if there is one.
func choose(kind string, found []*meta.RESTMapping) (*meta.RESTMapping, error) {
	if len(found) == 0 {
		return nil, errUnknownKind
	}
	best := slices.MinFunc(found, func(a, b *meta.RESTMapping) int { return rank(a) - rank(b) })
	if len(found) == 1 || rank(best) < rankOther {
		return best, nil
	}
	e := &AmbiguousKindError{Kind: kind}
	for _, m := range found {
		e.Groups = append(e.Groups, m.Resource.Group)
	}
	return nil, e
}

// The order in which choose prefers groups.
const (
	rankCore = iota
	rankBuiltIn
	rankLegacy // "extensions", whose kinds are also in other groups
	rankOther
)

func rank(m *meta.RESTMapping) int {
	switch group := m.Resource.Group; {
	case group == "":
		return rankCore
	case group == "extensions":
		return rankLegacy
	case scheme.Scheme.IsGroupRegistered(group) || group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io":
		return rankBuiltIn
	}
	return rankOther
}

func isAmbiguous(err error) bool {
	_, is := errors.AsType[*AmbiguousKindError](err)
	return is
}

// awaitKind waits until the cluster serves the kind of n, and returns its API resource. It calls
// observe with errUnknownKind, or the error of the discovery, after each attempt without success.
func (w *Waiter) awaitKind(ctx context.Context, n externalneed.Need, observe func(error)) (*meta.RESTMapping, error) {
	source := new(int)
	defer w.outages.set(source, false)
	for waited := false; ; waited = true {
		mapping, due, err := w.kinds.find(n)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil && waited:
			return mapping, w.kinds.appeared(ctx, mapping.GroupVersionKind)
		case err == nil || isAmbiguous(err):
			return mapping, err
		}
		w.outages.set(source, isNoResponse(err))
		observe(err)
		if !timing.Sleep(ctx, max(time.Until(due), minOutageCheck)) {
			return nil, context.Cause(ctx)
		}
	}
}
