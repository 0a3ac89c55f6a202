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

// maxRetryAfter is for how long the server may ask for a pause before it is asked again.
const maxRetryAfter = 10 * time.Second

// NotSentError is an error of a round tripper that is no trouble with the server: the request
// was not to be sent.
type NotSentError struct{ Err error }

func (r *NotSentError) Error() string { return r.Err.Error() }

// Unwrap gives the reason.
func (r *NotSentError) Unwrap() error { return r.Err }

// shouldRetry decides whether the request is sent again, and after what time at the earliest.
func (d *retrier) shouldRetry(response *http.Response, err error) (after time.Duration, again bool) {
	if err == nil && !isTemporary(response.StatusCode) || err != nil && isPermanent(err) {
		return 0, false
	}
	if d.firstFailure.IsZero() {
		d.firstFailure = time.Now()
	}
	waited := time.Since(d.firstFailure)
	d.lastErr = err
	switch {
	case err != nil:
		if !wasNotSent(err) {
			d.maybeApplied = true
		}
		if isUnreachable(err) && !d.responded.Load() {
			return 0, false // there is no server, as far as is known
		}
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable:
		d.lastErr = errors.New(response.Status)
		after = retryAfter(response)
	default: // it may have done something of it before it failed
		d.maybeApplied = true
		d.lastErr = errors.New(response.Status)
	}
	if d.maybeApplied && !d.kind.repeatable {
		return 0, false
	}
	if response != nil && response.StatusCode != http.StatusTooManyRequests && response.StatusCode != http.StatusServiceUnavailable {
		if d.serverErrors++; d.serverErrors >= maxServerErrors || waited > maxServerErrorTime {
			return 0, false
		}
	}
	if waited > maxRetryTime {
		return 0, false
	}
	if d.OnUnavailable != nil && !d.notified && waited > notifyAfter {
		d.notified = true
		d.OnUnavailable(d.lastErr)
	}
	return after, true
}

// isTemporary reports whether an answer says that the server cannot serve the request now.
func isTemporary(code int) bool {
	switch code {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryAfter is for how long the server asks not to be asked.
func retryAfter(response *http.Response) time.Duration {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

// isPermanent reports whether an error does not go away by itself.
func isPermanent(err error) bool {
	var notSent *NotSentError
	var untrusted *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var alert tls.AlertError
	return errors.As(err, &notSent) || errors.As(err, &untrusted) || errors.As(err, &unknown) || errors.As(err, &hostname) || errors.As(err, &alert)
}

// isUnreachable reports whether there was nobody to connect to.
func isUnreachable(err error) bool {
	var dns *net.DNSError
	return wasNotSent(err) || errors.As(err, &dns)
}

// wasNotSent reports whether the request was surely not sent: there was no connection.
func wasNotSent(err error) bool {
	var dial *net.OpError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &dial) && dial.Op == "dial"
}
