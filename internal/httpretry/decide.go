// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package httpretry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// longestRest is for how long the server may ask for a pause before it is asked again.
const longestRest = 10 * time.Second

// NotSentError is an error of a round tripper that is no trouble with the server: the request
// was not to be sent.
type NotSentError struct{ Err error }

func (r *NotSentError) Error() string { return r.Err.Error() }

// Unwrap gives the reason.
func (r *NotSentError) Unwrap() error { return r.Err }

// again decides whether the request is sent again, and after what time at the earliest.
func (d *delivery) again(answer *http.Response, err error) (after time.Duration, again bool) {
	if err == nil && !isTrouble(answer.StatusCode) || err != nil && isFinal(err) {
		return 0, false
	}
	if d.failed.IsZero() {
		d.failed = time.Now()
	}
	waited := time.Since(d.failed)
	d.trouble = err
	switch {
	case err != nil:
		if !isUnsent(err) {
			d.unsure = true
		}
		if isAway(err) && !d.answered.Load() {
			return 0, false // there is no server, as far as is known
		}
	case answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode == http.StatusServiceUnavailable:
		d.trouble = errors.New(answer.Status)
		after = restOf(answer)
	default: // it may have done something of it before it failed
		d.unsure = true
		d.trouble = errors.New(answer.Status)
	}
	if d.unsure && !d.kind.repeatable {
		return 0, false
	}
	if answer != nil && answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusServiceUnavailable {
		if d.refusals++; d.refusals >= mostRefusals || waited > refusalPatience {
			return 0, false
		}
	}
	if waited > patience {
		return 0, false
	}
	if d.OnUnavailable != nil && !d.said && waited > sayAfter {
		d.said = true
		d.OnUnavailable(d.trouble)
	}
	return after, true
}

// isTrouble reports whether an answer says that the server cannot serve the request now.
func isTrouble(code int) bool {
	switch code {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// restOf is for how long the server asks not to be asked.
func restOf(answer *http.Response) time.Duration {
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, longestRest)
}

// isFinal reports whether an error does not go away by itself.
func isFinal(err error) bool {
	var refusal *NotSentError
	var untrusted *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var other x509.HostnameError
	var alert tls.AlertError
	return errors.As(err, &refusal) || errors.As(err, &untrusted) || errors.As(err, &unknown) || errors.As(err, &other) || errors.As(err, &alert)
}

// isAway reports whether there was nobody to connect to.
func isAway(err error) bool {
	var dns *net.DNSError
	return isUnsent(err) || errors.As(err, &dns)
}

// isUnsent reports whether the request was surely not sent: there was no connection.
func isUnsent(err error) bool {
	var dial *net.OpError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &dial) && dial.Op == "dial"
}
