// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package browser tests the SVG and HTML files that helm writes, in headless Chromium, which
// must be installed from the distribution.
package browser

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// limit is the timeout for a page.
const limit = 2 * time.Minute

// View describes the window and the color scheme in which a page is opened.
type View struct {
	// Width and Height are the size of the window, in pixels.
	Width, Height int64
	// Dark is true if the user prefers dark mode.
	Dark bool
}

// Views returns the views in which the tests open every file: a small and a large window, each
// in light and dark mode.
func Views() map[string]View {
	return map[string]View{
		"small, light": {Width: 800, Height: 600},
		"small, dark":  {Width: 800, Height: 600, Dark: true},
		"large, light": {Width: 1920, Height: 1080},
		"large, dark":  {Width: 1920, Height: 1080, Dark: true},
	}
}

// Browser is a running browser.
type Browser struct{ ctx context.Context }

// Start starts a browser, which is stopped at the end of the test. It skips the test if
// Chromium is not installed. The browser has no network access.
func Start(t testing.TB) *Browser {
	t.Helper()
	path := find()
	if path == "" {
		t.Skip("no chromium found: install the package chromium of your distribution")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(limit))
	if os.Getuid() == 0 { // Chromium's sandbox does not work for root
		options = append(options, chromedp.NoSandbox)
	}
	// The test's own context ends before its cleanup functions run.
	allocator, endAllocator := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits for the process
		end()
		endAllocator()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return &Browser{ctx}
}

func find() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Page is a file that is open in a tab of the browser.
type Page struct {
	t   testing.TB
	ctx context.Context
}

// Open opens a file in a new tab, which is closed at the end of the test.
func (b *Browser) Open(t testing.TB, file string, v View) *Page {
	t.Helper()
	tab, closeTab := chromedp.NewContext(b.ctx)
	ctx, cancel := context.WithTimeout(tab, limit)
	t.Cleanup(func() { cancel(); closeTab() })
	p := &Page{t, ctx}
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	address := url.URL{Scheme: "file", Path: filepath.ToSlash(absolute)}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	err = chromedp.Do(ctx, chromedp.EmulateViewport(v.Width, v.Height),
		chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media)
			return err
		}),
		chromedp.Navigate(address.String()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Evaluate runs a script in a page and returns its result.
func Evaluate[T any](p *Page, script string) T {
	p.t.Helper()
	result, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		p.t.Fatal(err)
	}
	return result
}

// Screenshot writes a PNG image of the page to a file.
func (p *Page) Screenshot(file string) {
	p.t.Helper()
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, picture, 0o644); err != nil {
		p.t.Fatal(err)
	}
}
