// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luasandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/luasandbox/lualib"
)

// openHTTP registers the library http. Its functions return a table with the fields status,
// headers and body.
func (s *State) openHTTP() {
	s.register("http", map[string]GoFunction{
		// get sends a GET request to a URL, with headers from a table.
		"get": func(ctx context.Context, arguments []any) ([]any, error) {
			request := map[string]any{"url": argument(arguments, 0), "headers": argument(arguments, 1)}
			return s.sendRequest(ctx, request)
		},
		// request sends a request with the fields method, url, headers and body of a table.
		"request": func(ctx context.Context, arguments []any) ([]any, error) {
			request, ok := argument(arguments, 0).(map[string]any)
			if !ok {
				return nil, errors.New("http.request needs a table with the field url")
			}
			return s.sendRequest(ctx, request)
		},
	})
}

// argument returns an argument, or nil if there are fewer.
func argument(arguments []any, index int) any {
	if index < len(arguments) {
		return arguments[index]
	}
	return nil
}

// sendRequest sends a request, and reads its response.
func (s *State) sendRequest(ctx context.Context, fields map[string]any) ([]any, error) {
	if s.options.HTTP == nil {
		return nil, fmt.Errorf("http: %w", errNotConfigured)
	}
	address, _ := fields["url"].(string)
	method, _ := fields["method"].(string)
	body, _ := fields["body"].(string)
	headers, _ := fields["headers"].(map[string]any)
	if address == "" {
		return nil, errors.New("http: the URL is missing")
	}
	target, err := url.Parse(address)
	if err != nil {
		// The error would contain the URL.
		return nil, errors.New("http: the URL is invalid")
	}
	request, err := http.NewRequestWithContext(ctx, strings.ToUpper(method), address, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	// Users, passwords and queries can be secret.
	shown := (&url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path}).String()
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		switch header := headers[name].(type) {
		case string, int64, float64, bool:
			request.Header.Set(name, fmt.Sprint(header))
		default:
			return nil, fmt.Errorf("http: the header %.100q must be a string", name)
		}
	}
	response, err := s.options.HTTP.Do(request)
	if err != nil {
		if failed := (*url.Error)(nil); errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, fmt.Errorf("http: %s %s: %w", request.Method, shown, err)
	}
	defer response.Body.Close()
	limit := s.options.Limits.String
	var received strings.Builder
	if _, err := io.Copy(&received, lualib.Limited(host{s}, response.Body, limit)); err != nil {
		return nil, fmt.Errorf("http: reading the response from %s: %w", shown, err)
	}
	if limit > 0 && received.Len() > limit {
		return nil, fmt.Errorf("http: the response from %s has more than %d bytes", shown, limit)
	}
	result := map[string]any{}
	for name, values := range response.Header {
		result[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return []any{map[string]any{"status": response.StatusCode, "headers": result, "body": received.String()}}, nil
}
