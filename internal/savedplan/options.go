// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package savedplan

import (
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"

	"github.com/ordered-helm/helm/internal/crds"
)

// Options are the options of the operation that have an effect after the chart was rendered. They have the meaning
// of the fields with these names in Install and Upgrade.
type Options struct {
	HelmOptions
	WaitStrategy      string        `json:"waitStrategy,omitempty"`
	IgnoreJobs        bool          `json:"ignoreJobs,omitempty"`
	AllowIgnoredOrder bool          `json:"allowIgnoredOrder,omitempty"`
	CRDs              crds.Policy   `json:"crds,omitempty"`
	RecreateObjects   []string      `json:"recreateObjects,omitempty"`
	ReadinessTimeout  time.Duration `json:"readinessTimeout,omitempty"`
}

// HelmOptions are those of Options that Helm's types have, too.
type HelmOptions struct {
	Wait                     bool              `json:"wait,omitempty"`
	WaitForJobs              bool              `json:"waitForJobs,omitempty"`
	DisableHooks             bool              `json:"disableHooks,omitempty"`
	Force                    bool              `json:"force,omitempty"`
	Recreate                 bool              `json:"recreate,omitempty"`
	TakeOwnership            bool              `json:"takeOwnership,omitempty"`
	DisableOpenAPIValidation bool              `json:"disableOpenAPIValidation,omitempty"`
	SkipCRDs                 bool              `json:"skipCRDs,omitempty"`
	Atomic                   bool              `json:"atomic,omitempty"`
	CleanupOnFail            bool              `json:"cleanupOnFail,omitempty"`
	CreateNamespace          bool              `json:"createNamespace,omitempty"`
	Replace                  bool              `json:"replace,omitempty"`
	Description              string            `json:"description,omitempty"`
	Labels                   map[string]string `json:"labels,omitempty"`
	MaxHistory               int               `json:"maxHistory,omitempty"`
	Timeout                  time.Duration     `json:"timeout,omitempty"`
}

// OptionsOfUpgrade returns the options of an upgrade.
func OptionsOfUpgrade(u *helmaction.Upgrade) HelmOptions {
	return HelmOptions{
		Wait: u.Wait, WaitForJobs: u.WaitForJobs, DisableHooks: u.DisableHooks, Force: u.Force, Recreate: u.Recreate, TakeOwnership: u.TakeOwnership,
		DisableOpenAPIValidation: u.DisableOpenAPIValidation, SkipCRDs: u.SkipCRDs, Atomic: u.Atomic, CleanupOnFail: u.CleanupOnFail,
		Description: u.Description, Labels: u.Labels, MaxHistory: u.MaxHistory, Timeout: u.Timeout,
	}
}

// OptionsOfInstall returns the options of an installation.
func OptionsOfInstall(i *helmaction.Install) HelmOptions {
	return HelmOptions{
		Wait: i.Wait, WaitForJobs: i.WaitForJobs, DisableHooks: i.DisableHooks, Force: i.Force, TakeOwnership: i.TakeOwnership,
		DisableOpenAPIValidation: i.DisableOpenAPIValidation, SkipCRDs: i.SkipCRDs, Atomic: i.Atomic,
		CreateNamespace: i.CreateNamespace, Replace: i.Replace, Description: i.Description, Labels: i.Labels, Timeout: i.Timeout,
	}
}

// ConfigureUpgrade sets the fields of u about what is deployed, and how, such that it does what the plan says. Nothing is
// rendered again, and the values of the plan are complete.
func (p *Plan) ConfigureUpgrade(u *helmaction.Upgrade) {
	o := p.Options.HelmOptions
	u.Namespace, u.Install, u.DryRun, u.DryRunOption, u.PostRenderer, u.SkipSchemaValidation = p.Namespace, false, false, "", nil, true
	u.HideSecret = false // is only for dry runs
	u.ResetValues, u.ReuseValues, u.ResetThenReuseValues = true, false, false
	u.Wait, u.WaitForJobs, u.DisableHooks, u.Force, u.Recreate, u.TakeOwnership = o.Wait, o.WaitForJobs, o.DisableHooks, o.Force, o.Recreate, o.TakeOwnership
	u.DisableOpenAPIValidation, u.SkipCRDs, u.Atomic, u.CleanupOnFail = o.DisableOpenAPIValidation, o.SkipCRDs, o.Atomic, o.CleanupOnFail
	u.Description, u.Labels, u.MaxHistory = o.Description, o.Labels, o.MaxHistory
}

// ConfigureInstall is what ConfigureUpgrade is for an installation.
func (p *Plan) ConfigureInstall(i *helmaction.Install) {
	o := p.Options.HelmOptions
	i.ReleaseName, i.Namespace, i.DryRun, i.DryRunOption, i.PostRenderer, i.SkipSchemaValidation = p.Release, p.Namespace, false, "", nil, true
	i.ClientOnly, i.IncludeCRDs, i.OutputDir, i.HideSecret = false, false, "", false
	i.Wait, i.WaitForJobs, i.DisableHooks, i.Force, i.TakeOwnership = o.Wait, o.WaitForJobs, o.DisableHooks, o.Force, o.TakeOwnership
	i.DisableOpenAPIValidation, i.SkipCRDs, i.Atomic = o.DisableOpenAPIValidation, o.SkipCRDs, o.Atomic
	i.CreateNamespace, i.Replace, i.Description, i.Labels = o.CreateNamespace, o.Replace, o.Description, o.Labels
}
