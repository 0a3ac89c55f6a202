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

// maxRetryAfter limits the pause that a server may request.
const maxRetryAfter = 10 * time.Second

// NotSentError is an error of a round tripper that decided not to send a request. It is
// not a problem with the server, and the request is not retried.
type NotSentError struct{ Err error }

func (r *NotSentError) Error() string { return r.Err.Error() }

// Unwrap returns the reason.
func (r *NotSentError) Unwrap() error { return r.Err }

// shouldRetry reports whether to retry the request, and after which time at the earliest.
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
			return 0, false // there may be no server
		}
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable:
		d.lastErr = errors.New(response.Status)
		after = retryAfter(response)
	default: // it may have processed a part of the request
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

// isTemporary reports whether a status code means that the server cannot serve the
// request now.
func isTemporary(code int) bool {
	switch code {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryAfter returns the time of the Retry-After header.
func retryAfter(response *http.Response) time.Duration {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

// isPermanent reports whether retrying does not help against an error.
func isPermanent(err error) bool {
	var notSent *NotSentError
	var untrusted *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var alert tls.AlertError
	return errors.As(err, &notSent) || errors.As(err, &untrusted) || errors.As(err, &unknown) || errors.As(err, &hostname) || errors.As(err, &alert)
}

// isUnreachable reports whether no connection could be made.
func isUnreachable(err error) bool {
	var dns *net.DNSError
	return wasNotSent(err) || errors.As(err, &dns)
}

// wasNotSent reports whether the request was certainly not sent, because there was no
// connection.
func wasNotSent(err error) bool {
	var dial *net.OpError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &dial) && dial.Op == "dial"
}
