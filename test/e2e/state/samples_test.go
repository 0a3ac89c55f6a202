// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/releaseapi"
)

const digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// deployedAt has a fraction of a second, which the cluster must keep.
func deployedAt() time.Time { return time.Date(2026, 11, 26, 8, 0, 0, 123456789, time.UTC) }

func sampleChart() releaseapi.Chart {
	return releaseapi.NewChart(&chart.Metadata{Name: "shop", Version: "1.0.0", AppVersion: "3.2"})
}

// sampleRelease returns a Release with a value in every field.
func sampleRelease(namespace, name string) *releaseapi.Release {
	r := releaseapi.NewRelease(namespace, name)
	r.Status = releaseapi.ReleaseStatus{
		Chart: sampleChart(), Phase: release.StatusDeployed, Description: "Upgrade complete",
		CurrentVersion: ulid, LatestVersion: ulid, Revision: 2, Counts: releaseapi.Counts{Versions: 2, Resources: 5, Hooks: 1},
		FirstDeployed: deployedAt(), LastDeployed: deployedAt(),
		Conditions: []metav1.Condition{
			{Type: releaseapi.ConditionDeployed, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(deployedAt()), Reason: "Succeeded"},
			{Type: releaseapi.ConditionReady, Status: metav1.ConditionUnknown, ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(deployedAt()), Reason: releaseapi.ReasonNotWaited, Message: "The operation did not wait"},
		},
	}
	return r
}

// sampleVersion returns a ReleaseVersion with a value in every field.
func sampleVersion(namespace, releaseName string) *releaseapi.ReleaseVersion {
	v := releaseapi.NewReleaseVersion(namespace, ulid, releaseapi.ReleaseVersionSpec{ReleaseName: releaseName, Revision: 2, Chart: sampleChart()})
	v.Status = releaseapi.ReleaseVersionStatus{
		Phase: release.StatusDeployed, Description: "Upgrade complete", FirstDeployed: deployedAt(), LastDeployed: deployedAt(), Deleted: deployedAt(),
		WholeRecord: true, Labels: map[string]string{"team": "shop"},
		Hooks: []releaseapi.Hook{{
			Index: 1, Name: "migrate", Kind: "Job", Phase: release.HookPhaseSucceeded, StartedAt: deployedAt(), CompletedAt: deployedAt(),
		}},
		Operation: &releaseapi.Operation{
			Revision: 2, ID: "7f", Operation: "upgrade", Host: "laptop", PID: 12, StartID: "a/b/1", StartedAt: deployedAt(), RenewedAt: deployedAt(), Seconds: 45,
		},
		Progress: &releaseapi.Progress{Revision: 2, DoneNodes: []string{"shop:db"}, RunningNodes: []string{"shop:web"}, TotalNodes: 3, Uninstalling: true},
		Payload:  []releaseapi.Section{{Section: "values", Digest: digest, Size: 7, Secrets: []string{"shop-1", "shop-2"}}},
	}
	return v
}
