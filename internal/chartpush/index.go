// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/repo"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/timing"
)

const (
	indexName = "index.yaml"
	// maxIndex is the maximum size of an index, in bytes.
	maxIndex = 256 << 20
	// maxIndexAttempts is how often an index is extended that others change at the same time.
	maxIndexAttempts = 8
	// maxIndexDelay is the maximum time before the second attempt. It doubles with each attempt.
	maxIndexDelay = 25 * time.Millisecond
)

// index is the extended index of a repository, and the version of the index that it replaces.
type index struct {
	data []byte
	// etag is the entity tag of the replaced version. It is empty if there was no index.
	etag string
}

// isPartial reports whether data is only the beginning of the extended index.
func (i *index) isPartial(data []byte) bool {
	return len(data) < len(i.data) && bytes.HasPrefix(i.data, data)
}

// extendIndex downloads the index, and adds the chart.
func (u *upload) extendIndex(ctx context.Context) (*index, error) {
	r, err := u.readIndex(ctx)
	if err != nil {
		return nil, err
	}
	extended := &index{}
	var old []byte
	if r.status == http.StatusOK {
		old, extended.etag = r.body, r.header.Get("ETag")
		if extended.etag == "" || strings.HasPrefix(extended.etag, "W/") {
			return nil, fmt.Errorf("%s cannot be updated: the server sends no strong ETag, so that changes by others could be lost: "+
				"push without --update-index, and update the index with \"helm repo index --merge\"", r.url)
		}
	}
	extended.data, err = u.archive.addTo(old, u.Force)
	if errors.Is(err, errInIndex) {
		return nil, &ExistsError{Chart: u.chart(), URL: r.url}
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be updated: %w", r.url, err)
	}
	return extended, nil
}

// readIndex downloads the index. The status of the response is 200 or 404.
func (u *upload) readIndex(ctx context.Context) (*response, error) {
	address := u.client.fileURL(indexName)
	r, err := u.client.send(ctx, request{method: http.MethodGet, url: address, header: map[string]string{"Cache-Control": "no-cache"}, maxBody: maxIndex + 1})
	switch {
	case err != nil:
		return nil, err
	case r.status == http.StatusNotFound:
		return r, nil
	case r.status != http.StatusOK:
		return nil, u.statusError(r)
	case r.isHTML():
		return nil, fmt.Errorf("GET %s: %w", address, errHTML)
	case len(r.body) > maxIndex:
		return nil, fmt.Errorf("%s cannot be updated: it has more than %d MiB", address, maxIndex>>20)
	}
	return r, nil
}

// putIndex uploads the extended index, unless the index was changed meanwhile: then it extends
// the new version. At the end, it checks that the server has the chart in its index.
func (u *upload) putIndex(ctx context.Context, extended *index) error {
	delay := maxIndexDelay
	for attempt := 1; ; attempt++ {
		r, err := u.sendIndex(ctx, extended)
		switch {
		case err != nil || r.status >= http.StatusInternalServerError:
			if err == nil {
				err = u.statusError(r)
			}
			if extended.etag, err = u.settleIndex(ctx, extended, err); err != nil || extended.etag == "" {
				return err
			}
		case r.isSuccess():
			return u.checkIndex(ctx, extended, r)
		case r.status != http.StatusPreconditionFailed:
			return u.statusError(r)
		default:
			if extended, err = u.extendIndex(ctx); err != nil {
				return err
			}
		}
		if attempt == maxIndexAttempts {
			return fmt.Errorf("it could not be changed in %d attempts, because others changed it at the same time", attempt)
		}
		if !timing.Sleep(ctx, rand.N(delay)) { //nolint:gosec // not used for security
			return context.Cause(ctx)
		}
		delay *= 2
	}
}

func (u *upload) sendIndex(ctx context.Context, extended *index) (*response, error) {
	condition, value := "If-Match", extended.etag
	if value == "" {
		condition, value = "If-None-Match", "*"
	}
	header := map[string]string{"Content-Type": "application/yaml", condition: value}
	return u.client.send(ctx, request{method: http.MethodPut, url: u.client.fileURL(indexName), header: header, body: extended.data})
}

// settleIndex determines what an upload of the index that failed because of cause has left on the
// server. If the chart is in the index, only the answer was lost, and settleIndex returns no
// error. If the index is incomplete, it returns its entity tag, so that it can be replaced.
// Otherwise, it returns cause.
func (u *upload) settleIndex(ctx context.Context, extended *index, cause error) (etag string, err error) {
	r, err := u.readIndex(ctx)
	switch {
	case err != nil || r.status != http.StatusOK:
		return "", cause
	case extended.isPartial(r.body) && r.header.Get("ETag") != "":
		return r.header.Get("ETag"), nil
	case u.archive.isIn(r.body):
		return "", nil
	}
	return "", cause
}

// checkIndex checks that the chart is in the index on the server, in whose version by others it
// may be too.
func (u *upload) checkIndex(ctx context.Context, extended *index, answer *response) error {
	r, err := u.readIndex(ctx)
	if err != nil {
		return err
	}
	switch {
	case extended.isPartial(r.body):
		return fmt.Errorf("the server answered %s when it was updated, but has stored only a part of it: the index is damaged", status(answer.status))
	case u.archive.isIn(r.body):
		return nil
	}
	return fmt.Errorf("the server answered %s when it was updated, but has not changed it", status(answer.status))
}

// errInIndex means that an index already contains the version of the chart.
var errInIndex = errors.New("the index already contains the chart")

// isIn reports whether an index contains the archive.
func (a *Archive) isIn(data []byte) bool {
	index, err := parseIndex(data)
	if err != nil {
		return false
	}
	list := field(index.entries, a.Metadata.Name)
	i := versionPosition(list, a.Metadata.Version)
	return i >= 0 && scalar(list.Content[i], "digest") == a.Digest
}

// addTo returns an index to which the archive was added. It preserves everything else in the
// index, including comments and fields that Helm does not know. The index can be nil. If it
// contains the version of the chart, addTo replaces that if replace is true, and otherwise
// returns errInIndex.
func (a *Archive) addTo(data []byte, replace bool) ([]byte, error) {
	alone, err := a.newIndex()
	if err != nil || data == nil {
		return alone, err
	}
	added, err := parseIndex(alone)
	if err != nil {
		return nil, err
	}
	index, err := parseIndex(data)
	if err != nil {
		return nil, err
	}
	name := a.Metadata.Name
	entry, list := field(added.entries, name).Content[0], field(index.entries, name)
	if list == nil || list.Kind == yaml.ScalarNode { // a scalar is null
		list = &yaml.Node{Kind: yaml.SequenceNode}
		setField(index.entries, name, list)
	}
	switch i := versionPosition(list, a.Metadata.Version); {
	case i >= 0 && !replace:
		return nil, errInIndex
	case i >= 0:
		list.Content[i] = entry
	default:
		list.Content = append([]*yaml.Node{entry}, list.Content...)
	}
	setField(index.root, "generated", field(added.root, "generated"))
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err = errors.Join(encoder.Encode(index.document), encoder.Close())
	return out.Bytes(), err
}

// newIndex returns an index that contains only the archive.
func (a *Archive) newIndex() ([]byte, error) {
	index, metadata := repo.NewIndexFile(), *a.Metadata
	if err := index.MustAdd(&metadata, a.FileName(), "", a.Digest); err != nil {
		return nil, err
	}
	return k8syaml.Marshal(index)
}
