// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/ordered-helm/helm/test/cluster"
)

// server gives a sandbox access to the API server and its namespace there.
type server struct {
	namespace string
	host      string
	http      *http.Client
	discovery discovery.DiscoveryInterface
	dynamic   dynamic.Interface
}

// pollInterval is how often the API server is polled for an object.
const pollInterval = 20 * time.Millisecond

// connect creates the namespace and returns the server for it.
func connect(t *testing.T, c *cluster.Cluster, namespace string) *server {
	t.Helper()
	config := c.Config()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfigAndClient(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	dynamicClient, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	c.NamespaceNamed(t, namespace)
	return &server{
		namespace: namespace,
		host:      config.Host,
		http:      httpClient,
		discovery: clients.Discovery(),
		dynamic:   dynamicClient,
	}
}

// create creates the objects in a YAML stream.
func (s *server) create(ctx context.Context, text string) error {
	groups, err := restmapper.GetAPIGroupResources(s.discovery)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return err
		}
		var target dynamic.ResourceInterface = s.dynamic.Resource(mapping.Resource)
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			target = s.dynamic.Resource(mapping.Resource).Namespace(s.namespace)
		}
		if _, err := target.Create(ctx, object, metav1.CreateOptions{FieldManager: "someone"}); err != nil {
			return err
		}
	}
}

// awaitPath waits until an object exists at a path of the API server.
func (s *server) awaitPath(ctx context.Context, path string) error {
	return s.pollPath(ctx, http.MethodGet, path, http.StatusOK)
}

// deletePath deletes the object at a path, and waits until it no longer exists.
func (s *server) deletePath(ctx context.Context, path string) error {
	return s.pollPath(ctx, http.MethodDelete, path, http.StatusNotFound)
}

// merge applies a JSON merge patch to the object at a path of the API server.
func (s *server) merge(ctx context.Context, path, body string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPatch, s.host+path+"?fieldManager=someone", strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/merge-patch+json")
	response, err := s.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("PATCH %s: %s", path, response.Status)
	}
	return nil
}

// pollPath repeats a request until the response has the status want.
func (s *server) pollPath(ctx context.Context, method, path string, want int) error {
	for {
		got, err := s.request(ctx, method, path)
		if err != nil || got == want {
			return err
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("waiting for %s %s to answer %d, not %d: %w", method, path, want, got, err)
		}
	}
}

// request sends a request and returns the status of the response.
func (s *server) request(ctx context.Context, method, path string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, method, s.host+path, nil)
	if err != nil {
		return 0, err
	}
	response, err := s.http.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pollInterval):
		return nil
	}
}
