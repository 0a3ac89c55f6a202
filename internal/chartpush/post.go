// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// post uploads the archive with ChartMuseum's API.
func (u *upload) post(ctx context.Context) error {
	body, contentType, err := u.form()
	if err != nil {
		return err
	}
	post := request{method: http.MethodPost, url: u.apiURL(), header: map[string]string{"Content-Type": contentType}, body: body}
	if u.Force {
		post.query = "force"
	}
	var sent atomic.Bool
	r, err := u.client.send(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}), post)
	if err != nil {
		if _, redirected := errors.AsType[*RedirectError](err); sent.Load() && !redirected {
			err = fmt.Errorf("%w; it is not known whether the server has stored the chart", err)
		}
		return err
	}
	switch {
	case r.status == http.StatusConflict:
		return &ExistsError{Chart: u.chart(), URL: u.client.repositoryURL(), Forced: u.Force, Message: u.client.message(r)}
	case !r.isSuccess():
		return u.statusError(r)
	}
	if err := u.checkSaved(r); err != nil {
		return fmt.Errorf("POST %s: the server answered %s, but %w", r.url, status(r.status), err)
	}
	return nil
}

// form returns the files as a form, and its content type.
func (u *upload) form() (body []byte, contentType string, err error) {
	var buffer bytes.Buffer
	form := multipart.NewWriter(&buffer)
	add := func(field, name string, data []byte) {
		if err == nil {
			part, failed := form.CreateFormFile(field, name)
			if err = failed; err == nil {
				_, err = part.Write(data)
			}
		}
	}
	add("chart", u.archive.FileName(), u.archive.data)
	if u.archive.provenance != nil {
		add("prov", u.archive.FileName()+".prov", u.archive.provenance)
	}
	err = errors.Join(err, form.Close()) // Close writes the end of the form
	return buffer.Bytes(), form.FormDataContentType(), err
}

// checkSaved returns an error if a successful response does not mean that the chart was stored.
// The status 201 (Created) is sufficient, because not all servers with this API send a body.
// Login pages, and programs that know nothing of the API, answer with 200 (OK).
func (u *upload) checkSaved(r *response) error {
	var result struct {
		Saved *bool `json:"saved"`
	}
	isJSON := json.Unmarshal(r.body, &result) == nil
	switch {
	case r.isHTML():
		return errors.New("with an HTML page, as login pages are: the chart was not stored. Check the URL and the credentials")
	case isJSON && result.Saved != nil && !*result.Saved:
		return fmt.Errorf("says that it has not saved the chart%s", quoted(u.client.message(r)))
	case r.status == http.StatusCreated, isJSON && result.Saved != nil:
		return nil
	}
	return fmt.Errorf("does not say that it has saved the chart%s: check the URL", quoted(u.client.message(r)))
}
