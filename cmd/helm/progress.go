// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/ordered-helm/helm/internal/progress"
	"github.com/ordered-helm/helm/internal/timeline"
	"github.com/ordered-helm/helm/pkg/action"
)

const (
	progressFlagName = "progress"
	progressEnv      = "HELM_PROGRESS"
	timelineFlagName = "timeline"
)

// progressFlags control how an operation is displayed.
type progressFlags struct {
	mode     string
	timeline string
	given    bool
}

// warningsOnly is for commands without progress to display.
func warningsOnly() progressFlags {
	return progressFlags{mode: string(progress.None), given: true}
}

func addProgressFlags(cmd *cobra.Command, p *progressFlags) {
	f := cmd.Flags()
	f.Var((*progressFlag)(p), progressFlagName, "[not in Helm] how to show progress on standard error: \"tty\" redraws a view, \"plain\" prints a line for each step, \"json\" prints an object for each step, \"none\" prints only warnings; \"auto\" is tty on a terminal and plain elsewhere. Can also be set with $"+progressEnv)
	f.StringVar(&p.timeline, timelineFlagName, "", "[not in Helm] write a timeline of the operation to this file: as a web page if its name ends in .html, as data if it ends in .json")
	completeFlag(cmd, progressFlagName, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var words []cobra.Completion
		for _, m := range progress.Modes() {
			words = append(words, string(m))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	})
	_ = cmd.MarkFlagFilename(timelineFlagName, "html", "json") // the flag was just created
}

// progressFlag is the value of --progress.
type progressFlag progressFlags

func (p *progressFlag) Type() string { return "mode" }

func (p *progressFlag) String() string {
	if p.mode == "" {
		return string(progress.Auto)
	}
	return p.mode
}

func (p *progressFlag) Set(text string) error {
	if _, err := progress.ParseMode(text); err != nil {
		return err
	}
	p.mode, p.given = text, true
	return nil
}

// resolve returns the mode that the command line or the environment requests.
func (p *progressFlags) resolve(stderr *os.File) (progress.Mode, error) {
	from, text := "--"+progressFlagName, p.mode
	if !p.given {
		from, text = "$"+progressEnv, os.Getenv(progressEnv)
	}
	if text == "" {
		text = string(progress.Auto)
	}
	mode, err := progress.ParseMode(text)
	if err == nil {
		mode, err = progress.Resolve(mode, stderr, os.Getenv)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", from, err)
	}
	return mode, nil
}

// operationView displays one operation, or several one after the other.
type operationView struct {
	app *app
	// mode is never Auto. terminal is standard error if it is a terminal.
	mode     progress.Mode
	terminal *os.File
	// errOut receives messages while nothing is displayed.
	errOut io.Writer
	// file receives the timeline from recorder; nil if none was requested.
	file     *timelineFile
	recorder timeline.Recorder

	// display is nil while nothing is displayed.
	display progress.Display
	restore func()
}

// view prepares the display of an operation. It fails, before anything is done, if the
// requested display is not possible. The caller must close the view.
func (a *app) view(flags *progressFlags) (*operationView, error) {
	stderr, _ := a.errOut.(*os.File)
	mode, err := flags.resolve(stderr)
	if err != nil {
		return nil, err
	}
	v := &operationView{app: a, mode: mode, terminal: stderr, errOut: a.errOut}
	if flags.timeline != "" {
		if v.file, err = openTimeline(flags.timeline); err != nil {
			return nil, fmt.Errorf("--%s: %w", timelineFlagName, err)
		}
	}
	return v, nil
}

// open begins to display an operation. It returns the function that receives its events,
// and whether these include the logs of hooks.
func (v *operationView) open() (tell func(action.Event), followLogs bool) {
	a := v.app
	display := progress.New(progress.Options{Mode: v.mode, Out: a.errOut, Terminal: v.terminal, Env: os.Getenv})
	v.display = display
	v.restore = a.redirectOutput(v.mode, display.OutputAbove())
	tell = display.Event
	if v.file != nil {
		tell = func(e action.Event) {
			v.recorder.Event(e)
			display.Event(e)
		}
	}
	return tell, v.mode == progress.TTY
}

// pause ends what open began. It is called after the operation has returned.
func (v *operationView) pause() {
	if v.display != nil {
		v.display.Close()
		v.restore()
		v.display = nil
	}
}

// close is pause after the last operation. It also writes the timeline.
func (v *operationView) close() {
	v.pause()
	if v.file == nil {
		return
	}
	v.recorder.Read(func(t *timeline.Timeline) {
		if err := v.file.write(t); err != nil {
			v.app.warnf("failed to write the timeline: %v", err)
		}
	})
}

// redirectOutput sends everything for standard error through the view, if the view displays
// live progress on the terminal.
func (a *app) redirectOutput(mode progress.Mode, to io.Writer) (restore func()) {
	if mode != progress.TTY {
		return func() {}
	}
	errOut, logOut := a.errOut, log.Writer()
	a.errOut = to
	log.SetOutput(to)
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	klog.SetOutputBySeverity("INFO", to) // this includes more severe messages
	return func() {
		a.errOut = errOut
		log.SetOutput(logOut)
		klog.SetOutput(errOut)
		klog.LogToStderr(true)
	}
}

// timelineFile is the file to which a timeline is written.
type timelineFile struct {
	file *os.File
	// made is whether openTimeline created the file.
	made   bool
	encode func(io.Writer, *timeline.Timeline) error
}

// openTimeline opens a file without changing its content.
func openTimeline(name string) (*timelineFile, error) {
	t := &timelineFile{}
	switch {
	case strings.HasSuffix(name, ".html"):
		t.encode = timeline.HTML
	case strings.HasSuffix(name, ".json"):
		t.encode = timeline.JSON
	default:
		return nil, fmt.Errorf("the name of %s must end in .html or .json", name)
	}
	_, err := os.Stat(name)
	t.made = os.IsNotExist(err)
	t.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	return t, err
}

// write replaces the content of the file with a timeline. If no operation began, it writes
// nothing.
func (f *timelineFile) write(t *timeline.Timeline) (err error) {
	defer func() {
		if closed := f.file.Close(); err == nil {
			err = closed
		}
	}()
	if len(t.Operations) == 0 {
		if f.made {
			return os.Remove(f.file.Name())
		}
		return nil
	}
	if err := f.file.Truncate(0); err != nil {
		return err
	}
	return f.encode(f.file, t)
}
