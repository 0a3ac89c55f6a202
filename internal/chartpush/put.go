// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
)

// file is a file that is stored in a repository.
type file struct {
	url, contentType string
	data             []byte
	// isNew is true if the file must not exist yet.
	isNew bool
}

// put uploads the archive and its provenance file with PUT. The provenance file comes first,
// because the chart must not be available without it.
func (u *upload) put(ctx context.Context) error {
	chart := file{url: u.client.fileURL(u.archive.FileName()), contentType: "application/gzip", data: u.archive.data, isNew: !u.Force}
	var extended *index
	if u.UpdateIndex { // a problem with the index must not be found after the upload
		var err error
		if extended, err = u.extendIndex(ctx); err != nil {
			return err
		}
	}
	if err := u.checkExisting(ctx, chart); err != nil {
		return err
	}
	if err := u.putFiles(ctx, chart); err != nil {
		return err
	}
	if !u.UpdateIndex {
		u.warn("the server must add the chart to its index.yaml; if it does not do this, use --update-index")
		return nil
	}
	if err := u.putIndex(ctx, extended); err != nil {
		return &IndexError{ChartURL: chart.url, IndexURL: u.client.fileURL(indexName), Err: err}
	}
	return nil
}

// checkExisting returns an error if the chart exists, unless it can be replaced.
func (u *upload) checkExisting(ctx context.Context, chart file) error {
	if u.Force {
		return nil
	}
	stored, err := u.read(ctx, chart)
	switch {
	case err != nil:
		return err
	case stored.state == missing:
		return nil
	case stored.isHTML():
		return fmt.Errorf("GET %s: %w", chart.url, errHTML)
	}
	return &ExistsError{Chart: u.chart(), URL: chart.url, Identical: stored.state == identical}
}

func (u *upload) putFiles(ctx context.Context, chart file) error {
	proof := file{url: chart.url + ".prov", contentType: "text/plain", data: u.archive.provenance, isNew: chart.isNew}
	if u.archive.provenance == nil {
		if u.Force {
			u.removeProvenance(ctx, proof)
		}
		return u.putFile(ctx, chart)
	}
	if err := u.putFile(ctx, proof); err != nil {
		return err
	}
	err := u.putFile(ctx, chart)
	if err != nil && proof.isNew {
		err = errors.Join(err, u.remove(ctx, proof))
	}
	return err
}

// removeProvenance deletes the provenance file of the chart that is replaced, because it does
// not belong to the new one.
func (u *upload) removeProvenance(ctx context.Context, proof file) {
	r, err := u.client.send(ctx, request{method: http.MethodGet, url: proof.url})
	if err == nil && (r.status == http.StatusNotFound || r.status == http.StatusGone) {
		return
	}
	if err = u.remove(ctx, proof); err != nil {
		u.warn("if the replaced chart was signed, its provenance file is still there, and the new chart cannot be verified: %s", err)
	}
}

// putFile uploads a file, and reads it back, because not every answer of a server means that it
// has stored the file completely.
func (u *upload) putFile(ctx context.Context, f file) error {
	header := map[string]string{"Content-Type": f.contentType}
	if f.isNew {
		header["If-None-Match"] = "*"
	}
	r, err := u.client.send(ctx, request{method: http.MethodPut, url: f.url, header: header, body: f.data})
	switch {
	case err != nil:
		return u.settle(ctx, f, err)
	case r.status == http.StatusPreconditionFailed && f.isNew:
		return &ExistsError{Chart: u.chart(), URL: f.url}
	case r.status >= http.StatusInternalServerError:
		return u.settle(ctx, f, u.statusError(r))
	case !r.isSuccess():
		return u.statusError(r)
	}
	stored, err := u.read(ctx, f)
	answer := fmt.Sprintf("PUT %s: the server answered %s, but", f.url, status(r.status))
	switch {
	case err != nil:
		return fmt.Errorf("%s the file cannot be read back, so it may be incomplete: %w", answer, err)
	case stored.state == identical:
		return nil
	case stored.state == missing:
		return fmt.Errorf("%s it does not have the file: check the URL", answer)
	case stored.isHTML():
		return fmt.Errorf("%s %w", answer, errHTML)
	case stored.state == partial:
		return u.settle(ctx, f, fmt.Errorf("%s it has only a part of the file", answer))
	}
	return fmt.Errorf("%s it has another file", answer)
}

var errHTML = errors.New("the server sends an HTML page instead of the file, as login pages are: check the URL and the credentials")

// settle determines what a failed upload has left on the server, and removes it unless another
// file was replaced. It returns nil if the file is there: only the answer was lost.
func (u *upload) settle(ctx context.Context, f file, cause error) error {
	interrupted := ctx.Err() != nil
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	stored, err := u.read(ctx, f)
	switch {
	case err != nil:
		return fmt.Errorf("%w; %s may have a part of the file: push it again with --force", cause, f.url)
	case stored.state == identical && !interrupted:
		return nil
	case stored.state == missing:
		return cause
	case stored.state == other:
		return fmt.Errorf("%w; the file at %s is another one", cause, f.url)
	case f.isNew:
		return errors.Join(cause, u.remove(ctx, f))
	}
	return fmt.Errorf("%w; %s may have a part of the file: push it again with --force", cause, f.url)
}

// remove deletes a file from the server.
func (u *upload) remove(ctx context.Context, f file) error {
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	r, err := u.client.send(ctx, request{method: http.MethodDelete, url: f.url})
	if err == nil && !r.isSuccess() && r.status != http.StatusNotFound && r.status != http.StatusGone {
		err = u.statusError(r)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be deleted from the server: %w", f.url, err)
	}
	return nil
}

// fileState is what a server has at the URL of a file.
type fileState int

const (
	missing fileState = iota
	identical
	partial // the beginning of the file
	other
)

// storedFile is what a server has at the URL of a file.
type storedFile struct {
	*response
	state fileState
}

// read reads a file from the server, and compares it. If the server neither sends the file nor
// says that it does not exist, read returns an error.
func (u *upload) read(ctx context.Context, f file) (storedFile, error) {
	// A cache must not answer for the server.
	header := map[string]string{"Cache-Control": "no-cache"}
	r, err := u.client.send(ctx, request{method: http.MethodGet, url: f.url, header: header, maxBody: len(f.data) + 1})
	if err != nil {
		return storedFile{}, err
	}
	switch {
	case r.status == http.StatusNotFound, r.status == http.StatusGone:
		return storedFile{r, missing}, nil
	case r.status != http.StatusOK:
		return storedFile{}, u.statusError(r)
	case bytes.Equal(r.body, f.data):
		return storedFile{r, identical}, nil
	case bytes.HasPrefix(f.data, r.body):
		return storedFile{r, partial}, nil
	}
	return storedFile{r, other}, nil
}
