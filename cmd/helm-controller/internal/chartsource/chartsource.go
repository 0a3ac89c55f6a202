// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartsource reads the charts of HelmRequests: from chart repositories, OCI registries and
// other servers, and from Secrets and ConfigMaps.
package chartsource

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/pkg/chart/loader"
)

// The reasons of an Error.
const (
	// ReasonNotFound: the chart, the version, or the object that contains it does not exist.
	ReasonNotFound = "ChartNotFound"
	// ReasonUnavailable: the server does not respond, or with an error.
	ReasonUnavailable = "ChartUnavailable"
	// ReasonInvalid: what was found is not a chart that can be installed.
	ReasonInvalid = "InvalidChart"
	// ReasonDigest: the digest of the chart is not the one that is required.
	ReasonDigest = "ChartDigestMismatch"
	// ReasonRefused: the administrator does not allow charts from there.
	ReasonRefused = "ChartSourceRefused"
	// ReasonCredentials: the credentials for the server cannot be used.
	ReasonCredentials = "InvalidCredentials"
)

// Error reports that a chart cannot be read.
type Error struct {
	Reason string
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// IsPermanent reports whether the same chart source cannot work later.
func (e *Error) IsPermanent() bool { return e.Reason == ReasonRefused }

func fail(reason, format string, args ...any) error {
	return &Error{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// Options are what the administrator allows.
type Options struct {
	// Allowed contains prefixes of the URLs from which charts are downloaded; empty if all are
	// allowed.
	Allowed []string
	// AllowLocal says whether charts are downloaded from loopback and link-local addresses, such as
	// the metadata services of cloud providers.
	AllowLocal bool
	// MaxBytes is the maximum number of bytes of a download.
	MaxBytes int64
}

// DefaultMaxBytes is the maximum unless the administrator sets another one.
const DefaultMaxBytes = 10 << 20

// Chart is a chart and the digest of the package from which it was loaded.
type Chart struct {
	Chart *chart.Chart
	// Digest is as in "sha256:" and 64 hexadecimal digits.
	Digest string
}

// Deployed returns the description of the chart for the status of a request.
func (c *Chart) Deployed() v1alpha1.DeployedChart {
	m := c.Chart.Metadata
	return v1alpha1.DeployedChart{Name: m.Name, Version: m.Version, FullName: m.Name + "-" + m.Version, Digest: c.Digest}
}

// Read reads the chart of a request. client is that of the service account of the request. The error is
// an *Error, unless the API server returned another one.
func Read(ctx context.Context, client kubernetes.Interface, r *v1alpha1.HelmRequest, o Options) (*Chart, error) {
	data, err := readChartPackage(ctx, client, r, o)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	c := &Chart{Digest: "sha256:" + hex.EncodeToString(sum[:])}
	if want := r.Spec.Chart.Digest; want != "" && want != c.Digest {
		return nil, fail(ReasonDigest, "the digest of the chart is %s, but spec.chart.digest is %s", c.Digest, want)
	}
	if c.Chart, err = loader.LoadArchive(bytes.NewReader(data)); err != nil {
		return nil, fail(ReasonInvalid, "load the chart: %w", err)
	}
	return c, checkInstallable(c.Chart)
}

func readChartPackage(ctx context.Context, client kubernetes.Interface, r *v1alpha1.HelmRequest, o Options) ([]byte, error) {
	switch source := r.Spec.Chart; {
	case source.Secret != nil:
		secret, err := client.CoreV1().Secrets(r.Namespace).Get(ctx, source.Secret.Name, metav1.GetOptions{})
		if err != nil {
			return nil, readError("Secret", source.Secret, err)
		}
		return valueOf("Secret", source.Secret, secret.Data)
	case source.ConfigMap != nil:
		configMap, err := client.CoreV1().ConfigMaps(r.Namespace).Get(ctx, source.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			return nil, readError("ConfigMap", source.ConfigMap, err)
		}
		return valueOf("ConfigMap", source.ConfigMap, configMap.BinaryData)
	}
	return download(ctx, client, r, o)
}

func readError(kind string, ref *v1alpha1.KeyReference, err error) error {
	if apierrors.IsNotFound(err) {
		return fail(ReasonNotFound, "spec.chart: %s %s not found", kind, ref.Name)
	}
	return fmt.Errorf("spec.chart: read %s %s: %w", kind, ref.Name, err)
}

func valueOf(kind string, ref *v1alpha1.KeyReference, data map[string][]byte) ([]byte, error) {
	value, found := data[ref.Key]
	if !found {
		return nil, fail(ReasonNotFound, "spec.chart: %s %s has no key %s with binary data", kind, ref.Name, ref.Key)
	}
	return value, nil
}

// checkInstallable returns an error if a chart cannot be installed by itself, or lacks dependencies.
func checkInstallable(ch *chart.Chart) error {
	if ch.Metadata.Type != "" && ch.Metadata.Type != "application" {
		return fail(ReasonInvalid, "chart %s is of the type %s, which cannot be installed", ch.Name(), ch.Metadata.Type)
	}
	if err := action.CheckDependencies(ch, ch.Metadata.Dependencies); err != nil {
		return fail(ReasonInvalid, "chart %s: %w; the package must contain them (helm dependency update)", ch.Name(), err)
	}
	return checkSchemas(ch)
}

// contextError returns the cause of ctx if it is done, because err is then only a consequence.
func contextError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}
