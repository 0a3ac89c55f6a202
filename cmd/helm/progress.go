// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
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

// progressFlags holds the flags --progress and --timeline.
type progressFlags struct {
	mode     string
	modeSet  bool // if false, the environment determines the mode
	timeline string
}

// warningsOnly returns the progressFlags of a command that prints warnings but no progress.
func warningsOnly() progressFlags {
	return progressFlags{mode: string(progress.None), modeSet: true}
}

func addProgressFlags(cmd *cobra.Command, p *progressFlags) {
	f := cmd.Flags()
	f.Var((*progressFlag)(p), progressFlagName, "[not in stock Helm] how to show progress on standard error: \"tty\" redraws a view, \"plain\" prints a line for each step, \"json\" prints a JSON object for each step, \"none\" prints only warnings; \"auto\" is tty on a terminal and plain elsewhere. Can also be set with $"+progressEnv)
	f.StringVar(&p.timeline, timelineFlagName, "", "[not in stock Helm] write a timeline of the operation to this file: as a web page if its name ends in .html, as data if it ends in .json")
	completeFlag(cmd, progressFlagName, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var words []cobra.Completion
		for _, m := range progress.Modes() {
			words = append(words, string(m))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	})
	_ = cmd.MarkFlagFilename(timelineFlagName, "html", "json") // fails only for unknown flags
}

// progressFlag implements pflag.Value for the flag --progress.
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
	p.mode, p.modeSet = text, true
	return nil
}

// resolve returns the mode that --progress or else $HELM_PROGRESS sets, with progress.Auto
// replaced by the mode that suits stderr.
func (p *progressFlags) resolve(stderr *os.File) (progress.Mode, error) {
	source, text := "--"+progressFlagName, p.mode
	if !p.modeSet {
		source, text = "$"+progressEnv, os.Getenv(progressEnv)
	}
	if text == "" {
		text = string(progress.Auto)
	}
	mode, err := progress.ParseMode(text)
	if err == nil {
		mode, err = progress.Resolve(mode, stderr, os.Getenv)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", source, err)
	}
	return mode, nil
}

// operationView shows the progress of operations, which run sequentially, and writes them to
// the timeline file. It also handles signals that cancel an operation.
type operationView struct {
	app *app
	// mode says how progress is shown. It is never progress.Auto.
	mode progress.Mode
	// stderr is standard error if it is a file, such as a terminal, and otherwise nil.
	stderr *os.File
	// errOut is the error output of the app as it was before any redirection.
	errOut io.Writer
	// timelineFile is the file of --timeline, or nil if the flag is not set. recorder collects
	// what is written to it.
	timelineFile *timelineFile
	recorder     timeline.Recorder

	// display shows the progress of the current operation; nil if there is none. restore ends
	// the redirection of other output to it.
	display progress.Display
	restore func()
	// stopSignals ends the handling of signals for the current operation; nil if there is
	// none.
	stopSignals func()
}

// newView creates an operationView before the first operation starts. It returns an error if
// the terminal does not support the requested mode, or if the timeline file cannot be opened.
// The caller must close the view.
func (a *app) newView(flags *progressFlags) (*operationView, error) {
	stderr, _ := a.errOut.(*os.File)
	mode, err := flags.resolve(stderr)
	if err != nil {
		return nil, err
	}
	v := &operationView{app: a, mode: mode, stderr: stderr, errOut: a.errOut}
	if flags.timeline != "" {
		if v.timelineFile, err = openTimeline(flags.timeline); err != nil {
			return nil, fmt.Errorf("--%s: %w", timelineFlagName, err)
		}
	}
	return v, nil
}

// eventOptions points to the fields OnEvent and FollowHookLogs of an action.
type eventOptions struct {
	OnEvent        *func(action.Event)
	FollowHookLogs *bool
}

// begin opens the display for an operation, and sets the options of the action so that the
// display receives its events. Until end is called, a signal to the process cancels the
// returned context and prints messages.
func (v *operationView) begin(ctx context.Context, options eventOptions, messages cancelMessages) context.Context {
	*options.OnEvent, *options.FollowHookLogs = v.open()
	ctx, v.stopSignals = v.cancelOnSignal(ctx, messages)
	return ctx
}

// open opens the display. The operation must call onEvent for each event. followLogs says
// whether the operation should read the logs of hooks, because the display can show them.
func (v *operationView) open() (onEvent func(action.Event), followLogs bool) {
	a := v.app
	display := progress.New(progress.Options{Mode: v.mode, Out: a.errOut, Terminal: v.stderr, Env: os.Getenv})
	v.display = display
	v.restore = a.redirectOutput(v.mode, display.OutputAbove())
	onEvent = display.Event
	if v.timelineFile != nil {
		onEvent = func(e action.Event) {
			v.recorder.Event(e)
			display.Event(e)
		}
	}
	return onEvent, v.mode == progress.TTY
}

// closeDisplay closes the display, so that the result of the operation can be printed.
func (v *operationView) closeDisplay() {
	if v.display != nil {
		v.display.Close()
		v.restore()
		v.display = nil
	}
}

// end closes the display after an operation, cancels the context of the operation, and
// restores the default handling of signals. After that, begin can be called for the next
// operation.
func (v *operationView) end() {
	v.closeDisplay()
	if v.stopSignals != nil {
		v.stopSignals()
	}
}

// close ends the last operation, unless it has ended, and writes the timeline file.
func (v *operationView) close() {
	v.end()
	if v.timelineFile == nil {
		return
	}
	v.recorder.Read(func(t *timeline.Timeline) {
		if err := v.timelineFile.write(t); err != nil {
			v.app.warnf("failed to write the timeline: %v", err)
		}
	})
}

// redirectOutput redirects standard error, including the output of loggers, to w until
// restore is called. It does so only if progress is shown in mode TTY, because output in the
// middle of the view would corrupt it.
func (a *app) redirectOutput(mode progress.Mode, w io.Writer) (restore func()) {
	if mode != progress.TTY {
		return func() {}
	}
	errOut, logOut := a.errOut, log.Writer()
	a.errOut = w
	log.SetOutput(w)
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	klog.SetOutputBySeverity("INFO", w) // includes messages of higher severity
	return func() {
		a.errOut = errOut
		log.SetOutput(logOut)
		klog.SetOutput(errOut)
		klog.LogToStderr(true)
	}
}

// timelineFile is an open file to which a timeline is written.
type timelineFile struct {
	file *os.File
	// created is true if the file did not exist before openTimeline.
	created bool
	encode  func(io.Writer, *timeline.Timeline) error
}

// openTimeline opens the file for a timeline without changing its content. It is called
// before the operation starts, so that the user learns of an error before anything is
// changed.
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
	t.created = os.IsNotExist(err)
	t.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	return t, err
}

// write replaces the content of the file with a timeline, and closes the file. If no operation
// has started, it leaves the file as it was before openTimeline.
func (f *timelineFile) write(t *timeline.Timeline) (err error) {
	defer func() {
		if closed := f.file.Close(); err == nil {
			err = closed
		}
	}()
	if len(t.Operations) == 0 {
		if f.created {
			return os.Remove(f.file.Name())
		}
		return nil
	}
	if err := f.file.Truncate(0); err != nil {
		return err
	}
	return f.encode(f.file, t)
}
