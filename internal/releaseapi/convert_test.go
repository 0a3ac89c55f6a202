// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/orderrecord"
)

// sampleTime has a fraction of a second and a time zone.
var sampleTime = time.Date(2026, 11, 26, 8, 0, 0, 123456789, time.FixedZone("", 3600))

// sampleRelease returns a Release with a value in every field.
func sampleRelease() *Release {
	r := NewRelease("shops", "shop")
	r.Status = ReleaseStatus{
		Chart: sampleChart(), Phase: release.StatusDeployed, Description: "Install complete",
		CurrentVersion: sampleULID, LatestVersion: sampleULID, Revision: 2,
		Counts:        Counts{Versions: 2, Resources: 3, Hooks: 1},
		FirstDeployed: sampleTime, LastDeployed: sampleTime,
		Conditions: []metav1.Condition{{
			Type: ConditionReady, Status: metav1.ConditionUnknown, ObservedGeneration: 4,
			LastTransitionTime: metav1.NewTime(sampleTime.Truncate(time.Second).Local()), Reason: ReasonNotWaited, Message: "The operation did not wait",
		}},
	}
	return r
}

// sampleULID is the name of a ReleaseVersion.
const sampleULID = "01kawd5t9fh3qzv8e2m7y4x6rc"

func sampleChart() Chart {
	return NewChart(&chart.Metadata{Name: "shop", Version: "1.0.0", AppVersion: "3"})
}

// sampleVersion returns a ReleaseVersion with a value in every field.
func sampleVersion() *ReleaseVersion {
	v := NewReleaseVersion("shops", sampleULID, ReleaseVersionSpec{ReleaseName: "shop", Revision: 2, Chart: sampleChart()})
	v.Status = ReleaseVersionStatus{
		Phase: release.StatusUninstalled, Description: "Uninstallation complete",
		FirstDeployed: sampleTime, LastDeployed: sampleTime, Deleted: sampleTime,
		WholeRecord: true, Labels: map[string]string{"team": "shop"},
		Hooks: []Hook{{
			Name: "migrate", Kind: "Job", Index: 1, Phase: release.HookPhaseSucceeded,
			StartedAt: sampleTime, CompletedAt: sampleTime,
		}},
		Operation: &Operation{
			Revision: 2, ID: "a", Operation: "upgrade", Host: "laptop", PID: 7, StartID: "b",
			StartedAt: sampleTime, RenewedAt: sampleTime, Seconds: 45,
		},
		Progress: &Progress{Revision: 2, DoneNodes: []string{"a"}, RunningNodes: []string{"b"}, TotalNodes: 3, Uninstalling: true},
		Payload: []Section{{
			Section: "values", Size: 12, Secrets: []string{"shop-1"},
			Digest: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		}},
	}
	return v
}

func TestConversion(t *testing.T) {
	for name, objects := range map[string][2]Object{
		"release": {sampleRelease(), &Release{}}, "version": {sampleVersion(), &ReleaseVersion{}},
		"empty release": {NewRelease("shops", "shop"), &Release{}},
		"empty version": {NewReleaseVersion("shops", sampleULID, ReleaseVersionSpec{ReleaseName: "shop", Revision: 1}), &ReleaseVersion{}},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := ToUnstructured(objects[0])
			if err != nil {
				t.Fatal(err)
			}
			data, err := u.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			read := &unstructured.Unstructured{}
			if err := read.UnmarshalJSON(data); err != nil {
				t.Fatal(err)
			}
			if err := FromUnstructured(read, objects[1]); err != nil {
				t.Fatal(err)
			}
			// The location of a time differs, but not the time that it stands for.
			want, err := json.Marshal(objects[0])
			if err != nil {
				t.Fatal(err)
			}
			if got, err := json.Marshal(objects[1]); err != nil || string(got) != string(want) {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
		})
	}
}

func TestUnknownFields(t *testing.T) {
	u, err := ToUnstructured(sampleVersion())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range [][]string{{"status", "operation", "later"}, {"later"}, {"metadata", "later"}} {
		if err := unstructured.SetNestedField(u.Object, "x", path...); err != nil {
			t.Fatal(err)
		}
	}
	var v ReleaseVersion
	if err := FromUnstructured(u, &v); err != nil || !slices.Equal(v.UnknownFields, []string{"later", "status.operation.later"}) {
		t.Errorf("got %q, %v", v.UnknownFields, err)
	}
	if v.Status.Operation.Host != "laptop" {
		t.Errorf("got %+v", v.Status.Operation)
	}
}

func TestWrongKinds(t *testing.T) {
	u, err := ToUnstructured(sampleVersion())
	if err != nil {
		t.Fatal(err)
	}
	if err := FromUnstructured(u, &Release{}); err == nil {
		t.Error("a ReleaseVersion is decoded as a Release")
	}
	u.Object["status"] = "deployed"
	if err := FromUnstructured(u, &ReleaseVersion{}); err == nil {
		t.Error("a status that is text is decoded")
	}
}

// TestOrderRecordFields checks that Operation and Progress have every field of the order record.
func TestOrderRecordFields(t *testing.T) {
	fields := func(types ...reflect.Type) []string {
		var names []string
		for _, typ := range types {
			for _, f := range reflect.VisibleFields(typ) {
				if !f.Anonymous {
					names = append(names, f.Name)
				}
			}
		}
		slices.Sort(names)
		return names
	}
	if got, want := fields(reflect.TypeFor[Operation]()), fields(reflect.TypeFor[orderrecord.Lease]()); !slices.Equal(got, want) {
		t.Errorf("Operation has %q, but a lease %q", got, want)
	}
	if got, want := fields(reflect.TypeFor[Progress]()), fields(reflect.TypeFor[orderrecord.Progress]()); !slices.Equal(got, want) {
		t.Errorf("Progress has %q, but an order record %q", got, want)
	}
}
