// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package requestvalues reads the values of a HelmRequest.
package requestvalues

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
	"github.com/ordered-helm/helm/internal/redact"
)

// Values are the values of a request.
type Values struct {
	// Merged are the values of valuesFrom and of the request itself.
	Merged map[string]any
	// Versions identifies the objects of valuesFrom and their contents, without revealing them.
	Versions string
	// Redactor removes the values that come from Secrets from text.
	Redactor *redact.Redactor
}

// Error reports that values cannot be read. It does not contain them.
type Error struct {
	// Reason is "ValuesNotFound" or "InvalidValues".
	Reason string
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Read reads the values of a request with the client of its service account.
func Read(ctx context.Context, client kubernetes.Interface, r *v1alpha1.HelmRequest) (*Values, error) {
	v := &Values{Merged: map[string]any{}}
	var secrets []map[string]any
	var versions []string
	for _, ref := range r.Spec.ValuesFrom {
		text, version, err := readKey(ctx, client, r.Namespace, ref)
		if err != nil {
			return nil, err
		}
		versions = append(versions, version)
		values, err := chartutil.ReadValues([]byte(text))
		if err != nil {
			return nil, &Error{Reason: "InvalidValues", Err: fmt.Errorf("spec.valuesFrom: key %s of %s %s contains no YAML object", ref.Key, ref.Kind, ref.Name)}
		}
		if ref.Kind == "Secret" {
			secrets = append(secrets, asSecret(values))
		}
		v.Merged = chartutil.MergeTables(values.AsMap(), v.Merged)
	}
	if inline := r.Spec.Values; inline != nil {
		values := map[string]any{}
		if err := json.Unmarshal(inline.Raw, &values); err != nil {
			return nil, &Error{Reason: "InvalidValues", Err: fmt.Errorf("spec.values: %w", err)}
		}
		v.Merged = chartutil.MergeTables(values, v.Merged)
	}
	v.Versions, v.Redactor = strings.Join(versions, " "), redact.ForObjects(secrets)
	return v, nil
}

// readKey reads a key of a Secret or ConfigMap. version identifies the contents of the object.
func readKey(ctx context.Context, client kubernetes.Interface, namespace string, ref v1alpha1.ValuesReference) (text, version string, err error) {
	var meta metav1.ObjectMeta
	var found bool
	switch ref.Kind {
	case "Secret":
		secret, failure := client.CoreV1().Secrets(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err = failure; err == nil {
			var data []byte
			data, found = secret.Data[ref.Key]
			text, meta = string(data), secret.ObjectMeta
		}
	default:
		configMap, failure := client.CoreV1().ConfigMaps(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err = failure; err == nil {
			text, found = configMap.Data[ref.Key]
			meta = configMap.ObjectMeta
		}
	}
	switch {
	case apierrors.IsNotFound(err) && ref.Optional:
		return "", "", nil
	case apierrors.IsNotFound(err):
		return "", "", &Error{Reason: "ValuesNotFound", Err: fmt.Errorf("spec.valuesFrom: %s %s not found", ref.Kind, ref.Name)}
	case err != nil:
		return "", "", fmt.Errorf("spec.valuesFrom: read %s %s: %w", ref.Kind, ref.Name, err)
	case !found && !ref.Optional:
		return "", "", &Error{Reason: "ValuesNotFound", Err: fmt.Errorf("spec.valuesFrom: %s %s has no key %s", ref.Kind, ref.Name, ref.Key)}
	}
	return text, string(meta.UID) + "/" + meta.ResourceVersion, nil
}

// asSecret returns a Secret with all values that are texts, so that they are redacted like those of a Secret.
func asSecret(values map[string]any) map[string]any {
	data := map[string]any{}
	var collect func(path string, value any)
	collect = func(path string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, item := range v {
				collect(path+"."+key, item)
			}
		case []any:
			for i, item := range v {
				collect(fmt.Sprintf("%s.%d", path, i), item)
			}
		case nil, bool:
		default:
			data[path] = fmt.Sprint(v)
		}
	}
	collect("", values)
	return map[string]any{"apiVersion": "v1", "kind": "Secret", "stringData": data}
}
