// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package scripthandlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
	"unicode"

	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/luasandbox"
)

// Limits of all scripts of an operation together. Each call of a script has limits of its own
// (luasandbox.Limits), but the number of handlers is not limited.
const (
	// maxTime is the maximum duration of the handlers of an event, and of loading the scripts.
	maxTime = 7 * time.Second
	// maxOutput is the maximum number of bytes that scripts can print and log, with lineBytes more for
	// each line.
	maxOutput, lineBytes = 4 << 20, 128
	// maxAddedEntries is the maximum number of map entries and list items that scripts can add to the
	// values and to the manifest, and maxAddedText the maximum number of bytes of their text.
	maxAddedEntries, maxAddedText = 50_000, 4 << 20
	// escapedBytes is the number of bytes that a control character counts, which YAML needs to escape.
	escapedBytes = 8
)

// usage is what the scripts of an operation have used. It is not safe for concurrent use: scripts run one
// at a time.
type usage struct {
	output int
	// event and request are those of the last call, and time is the duration of the calls for them.
	event   lifecycle.Event
	request *lifecycle.Request
	time    time.Duration
	// stop ends the running call.
	stop context.CancelCauseFunc
	// values are the values before the event, and objects are those of changed documents.
	values  map[string]any
	objects map[*lifecycle.Document]map[string]any
}

// begin notes the event for which a script is called next.
func (u *usage) begin(event lifecycle.Event, r *lifecycle.Request) {
	if u.event == event && u.request == r && r != nil {
		return
	}
	*u = usage{output: u.output, event: event, request: r, objects: map[*lifecycle.Document]map[string]any{}}
	if r != nil {
		u.values = r.Values
	}
}

// limit returns a context that ends when the limits of the operation are reached. The caller must call end
// after the call.
func (u *usage) limit(ctx context.Context) (limited context.Context, end func()) {
	limited, stop := context.WithCancelCause(ctx)
	release := func() { stop(context.Canceled) }
	if u.event != lifecycle.Wait { // of which the timeout of the operation limits the duration
		timeLimit := fmt.Errorf("%w: the handlers of %s ran for more than %s together", luasandbox.ErrTimeLimit, u.event, maxTime)
		if u.event == "" {
			timeLimit = fmt.Errorf("%w: the scripts ran for more than %s together", luasandbox.ErrTimeLimit, maxTime)
		}
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(limited, maxTime-u.time, timeLimit)
		release = func() { stop(context.Canceled); cancel() }
	}
	started := time.Now()
	u.stop = stop
	return limited, func() {
		release()
		u.stop = nil
		u.time += time.Since(started)
	}
}

// addOutput counts a line of output. It reports whether the line can be shown, and ends the running call if not.
func (u *usage) addOutput(line string) bool {
	if u.output += len(line) + lineBytes; u.output <= maxOutput {
		return true
	}
	if u.stop != nil {
		u.stop(fmt.Errorf("%w: the scripts of all charts have written more than %d bytes together", luasandbox.ErrOutputLimit, maxOutput))
	}
	return false
}

// checkValues checks how much scripts have added to the values.
func (u *usage) checkValues(values map[string]any) error {
	var a addition
	a.add(values, u.values)
	return a.check("values")
}

// replaced notes that a script has changed a document.
func (u *usage) replaced(before, after *lifecycle.Document) {
	original, isChanged := u.objects[before]
	if !isChanged {
		original, _ = before.Object() // which the script has received
	}
	u.objects[after] = original
}

// added notes that a script has added a document.
func (u *usage) added(d *lifecycle.Document) { u.objects[d] = nil }

// checkManifest checks how much scripts have added to the documents of a manifest.
func (u *usage) checkManifest(documents []*lifecycle.Document) error {
	var a addition
	for _, d := range documents {
		original, isChanged := u.objects[d]
		if !isChanged {
			continue
		}
		object, err := d.Object()
		if err != nil {
			return err
		}
		a.add(object, original)
	}
	return a.check("manifest")
}

// addition is what values contain that others do not contain at the same places.
type addition struct {
	// entries and text are its size.
	entries, text int
	// invalid is the first value that is not YAML; nil if there is none.
	invalid error
}

func (a *addition) add(value, original any) {
	switch value := value.(type) {
	case map[string]any:
		before, _ := original.(map[string]any)
		if before != nil && reflect.ValueOf(value).Pointer() == reflect.ValueOf(before).Pointer() {
			return
		}
		for key, entry := range value {
			old, exists := before[key]
			if !exists {
				a.entries++
				a.text += textBytes(key)
			}
			a.add(entry, old)
		}
	case []any:
		before, _ := original.([]any)
		for i, item := range value {
			if i < len(before) {
				a.add(item, before[i])
				continue
			}
			a.entries++
			a.add(item, nil)
		}
	case string:
		if before, isText := original.(string); !isText || before != value {
			a.text += textBytes(value)
		}
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) {
			a.invalid = cmp.Or(a.invalid, fmt.Errorf("the number %v is not allowed", value))
		}
	case *luasandbox.Function:
		a.invalid = cmp.Or(a.invalid, errors.New("a function is not allowed"))
	}
}

// textBytes returns the number of bytes that a text counts.
func textBytes(text string) int {
	size := len(text)
	for _, r := range text {
		if r != '\n' && unicode.IsControl(r) {
			size += escapedBytes - 1
		}
	}
	return size
}

func (a *addition) check(where string) error {
	switch {
	case a.invalid != nil:
		return fmt.Errorf("has changed the %s to something that is not YAML: %w", where, a.invalid)
	case a.entries <= maxAddedEntries && a.text <= maxAddedText:
		return nil
	}
	return fmt.Errorf("has added too much to the %s: the scripts of all charts can add %d map entries and list items, and %d bytes of text", where, maxAddedEntries, maxAddedText)
}
