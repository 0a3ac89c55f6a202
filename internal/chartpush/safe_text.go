// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush

import (
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strings"

	"github.com/ordered-helm/helm/internal/terminalsafe"
)

// maxMessage is the maximum length of a server's message that is shown.
const maxMessage = 300

// safeError removes credentials from the error of a request, and the URL, which may contain
// them. The error can still be examined with errors.Is and errors.As.
func (c *client) safeError(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if text := c.safeText(err.Error()); text != err.Error() {
		return &safeError{text, err}
	}
	return err
}

// safeError is an error without credentials in its text.
type safeError struct {
	text string
	err  error
}

func (e *safeError) Error() string { return e.text }
func (e *safeError) Unwrap() error { return e.err }

// userInfo matches a user name and password in a URL, for example in that of a proxy.
var userInfo = regexp.MustCompile(`//[^/\s"@]+@`)

// safeText removes credentials from a text.
func (c *client) safeText(text string) string {
	return userInfo.ReplaceAllString(c.redactor.Text(text), "//")
}

// message returns what the server says in a response, in one line without credentials. It is
// empty if the response is a page for browsers.
func (c *client) message(r *response) string {
	text := strings.TrimSpace(string(r.body))
	var fields struct{ Error, Message any }
	switch {
	case r.isHTML() || strings.HasPrefix(text, "<"):
		return ""
	case json.Unmarshal(r.body, &fields) == nil:
		text = ""
		for _, field := range []any{fields.Error, fields.Message} {
			if said, ok := field.(string); ok && text == "" {
				text = said
			}
		}
	}
	for _, secret := range c.secrets {
		// The redactor leaves short secrets, which would occur anywhere.
		if secret != "" && strings.Contains(c.redactor.Text(text), secret) {
			return ""
		}
	}
	text = terminalsafe.Sanitize(strings.Join(strings.Fields(c.safeText(text)), " "))
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage]) + "…"
	}
	return text
}
