// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fakeapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

func (s *Server) serveWatch(w http.ResponseWriter, r *http.Request, collection string) {
	s.mu.Lock()
	from, err := strconv.ParseInt(strings.TrimPrefix(r.URL.Query().Get("resourceVersion"), "v-"), 10, 64)
	if err != nil {
		s.tb.Errorf("test API: %v", err)
	}
	if from < s.compacted {
		s.mu.Unlock()
		writeError(w, http.StatusGone, "too old")
		return
	}
	watch := &openWatch{
		server: s, collection: collection, sent: from, closures: s.closures,
		bookmarks: r.URL.Query().Get("allowWatchBookmarks") == "true",
	}
	s.watches++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.watches--
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	watch.serve(w, r)
}

// openWatch contains the state of a watch that a client has opened.
type openWatch struct {
	server     *Server
	collection string
	sent       int64 // the resource version up to which events were sent
	closures   int   // server.closures when the watch was opened; CloseWatches changes it
	bookmarks  bool  // whether the client allows bookmarks
}

// serve sends events until CloseWatches is called or the client closes the connection.
func (w *openWatch) serve(response http.ResponseWriter, request *http.Request) {
	for {
		due, changed, open := w.next()
		if !open || len(due) > 0 && !writeEvents(response, due) {
			return
		}
		select {
		case <-changed:
		case <-request.Context().Done():
			return
		}
	}
}

// next returns the events to send now, and a channel that is closed when there may be more. If
// CloseWatches has closed the watch, open is false.
func (w *openWatch) next() (due []watchEvent, changed chan struct{}, open bool) {
	s := w.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closures != w.closures {
		return nil, nil, false
	}
	if s.paused {
		return nil, s.changed, true
	}
	for _, e := range s.history {
		if e.version > w.sent && e.collection == w.collection && (w.bookmarks || e.kind != "BOOKMARK") {
			due = append(due, e)
		}
	}
	w.sent = max(w.sent, s.version)
	return due, s.changed, true
}

func writeEvents(w http.ResponseWriter, due []watchEvent) bool {
	for _, e := range due {
		if err := json.NewEncoder(w).Encode(map[string]any{"type": e.kind, "object": e.object}); err != nil {
			return false
		}
	}
	w.(http.Flusher).Flush()
	return true
}
