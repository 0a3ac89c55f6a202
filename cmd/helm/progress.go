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

// progressFlags contains the flags --progress and --timeline.
type progressFlags struct {
	mode     string
	timeline string
	given    bool
}

// warningsOnly returns the flags for a command that prints only warnings and no progress.
func warningsOnly() progressFlags {
	return progressFlags{mode: string(progress.None), given: true}
}

func addProgressFlags(cmd *cobra.Command, p *progressFlags) {
	f := cmd.Flags()
	f.Var((*progressFlag)(p), progressFlagName, "[not in stock Helm] how to show progress on standard error: \"tty\" redraws a view, \"plain\" prints a line for each step, \"json\" prints an object for each step, \"none\" prints only warnings; \"auto\" is tty on a terminal and plain elsewhere. Can also be set with $"+progressEnv)
	f.StringVar(&p.timeline, timelineFlagName, "", "[not in stock Helm] write a timeline of the operation to this file: as a web page if its name ends in .html, as data if it ends in .json")
	completeFlag(cmd, progressFlagName, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var words []cobra.Completion
		for _, m := range progress.Modes() {
			words = append(words, string(m))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	})
	_ = cmd.MarkFlagFilename(timelineFlagName, "html", "json") // the flag was just created
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
	p.mode, p.given = text, true
	return nil
}

// resolve returns the mode to use on stderr. It is set with the flag or in the environment.
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

// operationView shows the progress of an operation, or of several operations one after the
// other, and writes the timeline file.
type operationView struct {
	app *app
	// mode says how progress is shown; it is never Auto. terminal is standard error if it
	// is a terminal.
	mode     progress.Mode
	terminal *os.File
	// errOut receives error messages while no display is open.
	errOut io.Writer
	// file is the file for --timeline; nil if the flag is not set. recorder collects what
	// is written to it.
	file     *timelineFile
	recorder timeline.Recorder

	// display is the open display; nil if none is open. restore ends the redirection of
	// output to it.
	display progress.Display
	restore func()
	// ignoreSignals ends the handling of signals by the operation; nil if there is none.
	ignoreSignals func()
}

// newView creates the view for an operation, before the operation starts. It returns an
// error if the terminal cannot show the requested mode, or if the timeline file cannot be
// opened. The caller must close the view.
func (a *app) newView(flags *progressFlags) (*operationView, error) {
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

// eventOptions points to the options of an action that say what the action does with events.
// They have the names of these options.
type eventOptions struct {
	OnEvent        *func(action.Event)
	FollowHookLogs *bool
}

// begin opens the display before an operation, and sets the options of the operation so that
// the display receives its events. A signal to the process cancels the returned context, and
// prints messages; end ends that.
func (v *operationView) begin(ctx context.Context, options eventOptions, messages cancelMessages) context.Context {
	*options.OnEvent, *options.FollowHookLogs = v.open()
	ctx, v.ignoreSignals = v.cancelOnSignal(ctx, messages)
	return ctx
}

// open opens the display. It must receive each event through tell. followLogs is true if the
// display can show the logs of hooks, so that the operation should read them.
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

// closeDisplay closes the display, so that the result of the operation can be printed.
func (v *operationView) closeDisplay() {
	if v.display != nil {
		v.display.Close()
		v.restore()
		v.display = nil
	}
}

// end closes the display after an operation. Signals then end the process as usual, and the
// context of the operation is cancelled. begin can be called for the next operation.
func (v *operationView) end() {
	v.closeDisplay()
	if v.ignoreSignals != nil {
		v.ignoreSignals()
	}
}

// close ends the last operation, and writes the timeline file.
func (v *operationView) close() {
	v.end()
	if v.file == nil {
		return
	}
	v.recorder.Read(func(t *timeline.Timeline) {
		if err := v.file.write(t); err != nil {
			v.app.warnf("failed to write the timeline: %v", err)
		}
	})
}

// redirectOutput redirects everything that is written to standard error, including the
// output of loggers, to another writer until restore is called. It does this only in mode
// TTY, in which such output would corrupt the display.
func (a *app) redirectOutput(mode progress.Mode, redirected io.Writer) (restore func()) {
	if mode != progress.TTY {
		return func() {}
	}
	errOut, logOut := a.errOut, log.Writer()
	a.errOut = redirected
	log.SetOutput(redirected)
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	klog.SetOutputBySeverity("INFO", redirected) // this includes more severe messages
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
	// made is true if openTimeline created the file.
	made   bool
	encode func(io.Writer, *timeline.Timeline) error
}

// openTimeline opens the file for a timeline without changing its content, so that a
// problem with the file is found before the operation starts.
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

// write replaces the content of the file with a timeline. If no operation started, it
// writes nothing.
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
