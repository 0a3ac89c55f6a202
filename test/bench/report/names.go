// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "fmt"

// The names of workloads that the page refers to.
const (
	SubchartsName = "subcharts"
	FanOutName    = "fan-out"
	WaitName      = "wait"
	ListName      = "list"
	// ListObjectsName and HistoryName are of large releases, in Secrets and as objects.
	ListObjectsName = "list-objects"
	HistoryName     = "history"
	StackName       = "kube-prometheus-stack"
	RenderName      = "render"
	StartName       = "start"
	FormatName      = "format"
	ScriptsName     = "scripts"
	GrowthName      = "growth"

	StorageName          = "storage"
	UnorderedStorageName = "storage-unordered"
	LargeReleaseName     = "large-release"

	ControllerName     = "controller"
	IdleControllerName = "controller-idle"

	DriftName     = "drift"
	UnchangedName = "unchanged"
	SavedPlanName = "saved-plan"
)

// ChainName returns the name of the workload of n Deployments in a chain.
func ChainName(n int) string { return fmt.Sprintf("chain-%d", n) }

// HooksName returns the name of the workload of n Jobs that are hooks.
func HooksName(n int) string { return fmt.Sprintf("hooks-%d", n) }

// RenderStep returns the name of the step of the workload render that renders a chart.
func RenderStep(chart string) string { return "template: " + chart }

// ScriptsStep returns the name of the step of the workload scripts that renders n objects.
func ScriptsStep(n int) string {
	if n == 1 {
		return RenderStep("one object")
	}
	return RenderStep(Thousands(n) + " objects")
}

// ScriptsChangeStep returns the name of the step of the workload scripts that renders n objects, each of which
// a script changes.
func ScriptsChangeStep(n int) string { return RenderStep(Thousands(n) + " changed objects") }

// ObjectsName returns the name of the workload of n small objects.
func ObjectsName(n int) string { return fmt.Sprintf("objects-%d", n) }

// inOrder returns the names of all workloads except growth, in the order of the page.
func inOrder() []string {
	return []string{
		ChainName(10), ChainName(30), ChainName(100), SubchartsName, FanOutName, HooksName(20), HooksName(200),
		ObjectsName(100), ObjectsName(1000), ObjectsName(5000), WaitName, ListName, ListObjectsName, HistoryName, StorageName, UnorderedStorageName, LargeReleaseName, ControllerName, IdleControllerName,
		DriftName, UnchangedName, SavedPlanName, StackName, RenderName, FormatName, ScriptsName, StartName,
	}
}
