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

// maxRetryAfter is the longest pause before the next attempt that a server can request.
const maxRetryAfter = 10 * time.Second

// NotSentError is returned by a round tripper that deliberately did not send a request,
// for example because the lock of the release was lost. Err is the reason. Transport does
// not retry such a request.
type NotSentError struct{ Err error }

func (r *NotSentError) Error() string { return r.Err.Error() }

// Unwrap returns Err.
func (r *NotSentError) Unwrap() error { return r.Err }

// shouldRetry reports whether to send the request again. after is the minimum pause before
// the next attempt. response and err are the result of the last attempt.
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
			return 0, false // the address may be wrong
		}
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable:
		d.lastErr = errors.New(response.Status)
		after = retryAfter(response)
	default: // the server may have processed a part of the request
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

// isTemporary reports whether a request that failed with this status code may succeed later.
func isTemporary(code int) bool {
	switch code {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryAfter returns the pause that the Retry-After header of a response requests, up to
// maxRetryAfter. It returns 0 if there is no such header.
func retryAfter(response *http.Response) time.Duration {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

// isPermanent reports whether every further attempt would fail with the same error.
func isPermanent(err error) bool {
	return is[*NotSentError](err) || is[*tls.CertificateVerificationError](err) || is[x509.UnknownAuthorityError](err) ||
		is[x509.HostnameError](err) || is[tls.AlertError](err)
}

// is reports whether err is or wraps an error of type E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// isUnreachable reports whether an error means that connecting to the server or looking up its
// name failed.
func isUnreachable(err error) bool {
	return wasNotSent(err) || is[*net.DNSError](err)
}

// wasNotSent reports whether an error means that no connection could be made, so that the
// request was certainly not sent.
func wasNotSent(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return errors.Is(err, syscall.ECONNREFUSED) || ok && operation.Op == "dial"
}
