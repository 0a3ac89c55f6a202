// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HelmRequest asks the controller to deploy a chart as a release in the namespace of the
// HelmRequest. When the HelmRequest is deleted, the controller uninstalls the release.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="helm.sh/layer=definitions"
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:resource:path=helmrequests,shortName=hreq,categories=helm
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.release.name`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.release.revision`
// +kubebuilder:printcolumn:name="Chart",type=string,JSONPath=`.status.chart.fullName`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="the name of a HelmRequest can have 63 characters at most"
// +kubebuilder:validation:XValidation:rule="has(self.spec.releaseName) || (self.metadata.name.size() <= 53 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'))",message="the name of the HelmRequest cannot be used as a release name, which can have 53 characters at most: set spec.releaseName"
type HelmRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   HelmRequestSpec   `json:"spec"`
	Status HelmRequestStatus `json:"status,omitempty"`
}

// HelmRequestSpec says what to deploy, and how.
//
// +kubebuilder:validation:XValidation:rule="!has(self.order) || self.waitStrategy == 'ordered'",message="order has an effect only with waitStrategy ordered: set it, or remove order"
type HelmRequestSpec struct {
	// Chart says where to find the chart.
	Chart ChartSource `json:"chart"`
	// ReleaseName is the name of the release. By default, it is the name of the HelmRequest. It
	// cannot be changed after the release was installed.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=53
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	ReleaseName string `json:"releaseName,omitempty"`
	// Values are the values of the release. They take precedence over ValuesFrom.
	//
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Values *apiextensionsv1.JSON `json:"values,omitempty"`
	// ValuesFrom names Secrets and ConfigMaps in the namespace of the HelmRequest that contain
	// values. Later ones take precedence over earlier ones.
	//
	// +kubebuilder:validation:MaxItems=32
	// +optional
	ValuesFrom []ValuesReference `json:"valuesFrom,omitempty"`
	// WaitStrategy says how the release is deployed: "ordered" follows the order that the charts
	// declare, and waits until all resources are ready; "unordered" deploys all resources at the
	// same time, and waits until they are ready; "none" does not wait.
	//
	// +kubebuilder:validation:Enum=ordered;unordered;none
	// +kubebuilder:default=ordered
	// +optional
	WaitStrategy WaitStrategy `json:"waitStrategy,omitempty"`
	// Timeout limits each operation, such as an installation.
	//
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="must be positive"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// Atomic says whether a failed installation is uninstalled, and a failed upgrade is rolled
	// back.
	//
	// +optional
	Atomic bool `json:"atomic,omitempty"`
	// CRDs says what is done with the CustomResourceDefinitions in the crds/ directories of the
	// charts: "create" creates those that do not exist, also in an upgrade; "apply" also changes
	// those that differ; "skip" leaves them alone. Without it, an installation creates those that
	// do not exist, and an upgrade leaves them alone.
	//
	// +kubebuilder:validation:Enum=create;apply;skip
	// +optional
	CRDs CRDPolicy `json:"crds,omitempty"`
	// Order is the content of an order file: it declares the order of the charts and their resources,
	// in addition to what the charts declare, and takes precedence over their order files. Its
	// apiVersion and kind can be omitted.
	//
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Order *apiextensionsv1.JSON `json:"order,omitempty"`
	// HistoryMax is the maximum number of revisions that are kept. 0 means no limit.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=10
	// +optional
	HistoryMax *int32 `json:"historyMax,omitempty"`
	// DependsOn contains the names of HelmRequests in the same namespace that must be ready
	// before this one is deployed.
	//
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	DependsOn []string `json:"dependsOn,omitempty"`
	// Interval is the time after which the controller looks for a new version of the chart and
	// for changed values, and corrects drift: it changes objects of the release back to their
	// declared state. 0 means never.
	//
	// +kubebuilder:default="0s"
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration('0s') || duration(self) >= duration('10s')",message="must be 0 or at least 10s"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`
	// Suspend stops the controller from changing the release. If a suspended HelmRequest is
	// deleted, its release stays.
	//
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// ServiceAccountName is the name of the service account, in the namespace of the HelmRequest,
	// as which the controller acts. Without it, the default of the administrator is used.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// AcceptPermissions contains the permissions that the scripts of the charts get.
	//
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +optional
	AcceptPermissions []string `json:"acceptPermissions,omitempty"`
	// RollbackTo is a revision to which the release is rolled back. As long as it is set, the
	// chart, the values and the order of the HelmRequest are not deployed.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	RollbackTo *int64 `json:"rollbackTo,omitempty"`
	// Adopt says whether the HelmRequest takes over a release of this name that it did not
	// install.
	//
	// +optional
	Adopt bool `json:"adopt,omitempty"`
}

// WaitStrategy says how a release is deployed.
type WaitStrategy string

// The values of WaitStrategy (see HelmRequestSpec).
const (
	WaitOrdered   WaitStrategy = "ordered"
	WaitUnordered WaitStrategy = "unordered"
	WaitNone      WaitStrategy = "none"
)

// CRDPolicy says what is done with the definitions in crds/ directories.
type CRDPolicy string

// The values of CRDPolicy (see HelmRequestSpec).
const (
	CRDsCreate CRDPolicy = "create"
	CRDsApply  CRDPolicy = "apply"
	CRDsSkip   CRDPolicy = "skip"
)

// ChartSource says where to find a chart. Exactly one of Repository, OCI, URL, Secret and ConfigMap
// must be set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.repository), has(self.oci), has(self.url), has(self.secret), has(self.configMap)].filter(x, x).size() == 1",message="set exactly one of repository, oci, url, secret and configMap"
// +kubebuilder:validation:XValidation:rule="has(self.repository) == has(self.name)",message="set name with repository, and only with it"
// +kubebuilder:validation:XValidation:rule="!has(self.version) || has(self.repository) || has(self.oci)",message="version can be set only with repository and oci"
type ChartSource struct {
	// Repository is the URL of a chart repository.
	//
	// +kubebuilder:validation:Pattern=`^https?://`
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Repository string `json:"repository,omitempty"`
	// Name is the name of the chart in Repository.
	//
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`
	// +kubebuilder:validation:MaxLength=250
	// +optional
	Name string `json:"name,omitempty"`
	// Version is the version of the chart, or a range of versions such as "^1.0". By default, it
	// is the newest version that is not a pre-release.
	//
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Version string `json:"version,omitempty"`
	// OCI is the reference of a chart in an OCI registry, without the version, as in
	// "oci://registry.example.com/charts/shop".
	//
	// +kubebuilder:validation:Pattern=`^oci://`
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	OCI string `json:"oci,omitempty"`
	// URL is the URL of a packaged chart.
	//
	// +kubebuilder:validation:Pattern=`^https?://`
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	URL string `json:"url,omitempty"`
	// Secret is a key of a Secret whose value is a packaged chart.
	//
	// +optional
	Secret *KeyReference `json:"secret,omitempty"`
	// ConfigMap is a key, in binaryData, of a ConfigMap whose value is a packaged chart.
	//
	// +optional
	ConfigMap *KeyReference `json:"configMap,omitempty"`
	// Digest is the SHA-256 digest that the packaged chart must have.
	//
	// +kubebuilder:validation:Pattern=`^sha256:[a-f0-9]{64}$`
	// +optional
	Digest string `json:"digest,omitempty"`
	// CredentialsSecret is the name of a Secret with the credentials for Repository, OCI or URL.
	// Its keys are "username" and "password", "ca.crt", and "tls.crt" and "tls.key"; all are
	// optional.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	CredentialsSecret string `json:"credentialsSecret,omitempty"`
	// PlainHTTP says whether the OCI registry is reached by HTTP instead of HTTPS.
	//
	// +optional
	PlainHTTP bool `json:"plainHTTP,omitempty"`
}

// KeyReference is a key of a Secret or ConfigMap in the namespace of the HelmRequest.
type KeyReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// ValuesReference names a Secret or ConfigMap that contains values as YAML.
type ValuesReference struct {
	// +kubebuilder:validation:Enum=Secret;ConfigMap
	Kind string `json:"kind"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key is the key of the values.
	//
	// +kubebuilder:default="values.yaml"
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Key string `json:"key,omitempty"`
	// Optional says whether the object or the key can be missing.
	//
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// HelmRequestStatus says what became of a HelmRequest.
type HelmRequestStatus struct {
	// ObservedGeneration is the generation that the controller has processed last.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are of the types Ready, Reconciling, Stalled, DeployedByHand and Suspended.
	//
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Release is the release that the controller has deployed.
	//
	// +optional
	Release *ReleaseReference `json:"release,omitempty"`
	// Chart is the chart of the release.
	//
	// +optional
	Chart *DeployedChart `json:"chart,omitempty"`
	// LastError is the last error with its explanation; empty if the last operation succeeded.
	//
	// +optional
	LastError string `json:"lastError,omitempty"`
	// LastAttempt is the last operation that was started.
	//
	// +optional
	LastAttempt *Attempt `json:"lastAttempt,omitempty"`
	// CheckedGeneration is the generation with which the controller has last compared the release.
	//
	// +optional
	CheckedGeneration int64 `json:"checkedGeneration,omitempty"`
	// LastCheckTime is when the controller last compared the release with the HelmRequest.
	//
	// +optional
	LastCheckTime *metav1.Time `json:"lastCheckTime,omitempty"`
	// HandledRequest is the last value of the annotation helm.sh/reconcile that the controller has
	// processed.
	//
	// +optional
	HandledRequest string `json:"handledRequest,omitempty"`
}

// ReleaseReference names a revision of a release in the namespace of the HelmRequest.
type ReleaseReference struct {
	Name     string `json:"name"`
	Revision int64  `json:"revision"`
}

// DeployedChart identifies the contents of a chart.
type DeployedChart struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// FullName is the name and the version, as in "helm list".
	FullName string `json:"fullName"`
	// Digest is the SHA-256 digest of the packaged chart.
	Digest string `json:"digest"`
}

// Attempt is an operation that was started because of a HelmRequest.
type Attempt struct {
	// Operation is install, upgrade, rollback, uninstall, correct-drift or prepare. The last one
	// means that the chart, the values or the order could not be read.
	Operation string `json:"operation"`
	// Generation is the generation of the HelmRequest.
	Generation int64 `json:"generation"`
	// Revision is the revision that the operation was about to create; 0 if none.
	//
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// Inputs identifies the chart, the values and the order, without revealing them.
	//
	// +optional
	Inputs string `json:"inputs,omitempty"`
	// StartTime is when the operation was started.
	StartTime metav1.Time `json:"startTime"`
	// Failures counts how often the operation has failed since something else was tried.
	//
	// +optional
	Failures int64 `json:"failures,omitempty"`
	// RetryTime is when the operation is tried again, if it has failed and the failure may be
	// temporary.
	//
	// +optional
	RetryTime *metav1.Time `json:"retryTime,omitempty"`
}

// The types of conditions. Ready, Reconciling and Stalled are those of kstatus.
const (
	// ConditionReady is True if the HelmRequest is deployed as its observed generation requires.
	ConditionReady = "Ready"
	// ConditionReconciling is True while the controller works on the HelmRequest or is going to
	// try again.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True if the HelmRequest must be changed before the controller can go on.
	ConditionStalled = "Stalled"
	// ConditionDeployedByHand is True if another program has deployed a revision of the release
	// since the controller did.
	ConditionDeployedByHand = "DeployedByHand"
	// ConditionSuspended is True if spec.suspend is set.
	ConditionSuspended = "Suspended"
)

const (
	// Finalizer is the finalizer that keeps a HelmRequest until its release is uninstalled.
	Finalizer = "helm.sh/uninstall"
	// ReconcileAnnotation makes the controller process a HelmRequest again when its value
	// changes.
	ReconcileAnnotation = "helm.sh/reconcile"
	// RequestLabel is the label of a release with the name of its HelmRequest.
	RequestLabel = "helm.sh/request"
)

// HelmRequestList is a list of HelmRequests.
//
// +kubebuilder:object:root=true
type HelmRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []HelmRequest `json:"items"`
}

// ReleaseName returns the name of the release.
func (r *HelmRequest) ReleaseName() string {
	if r.Spec.ReleaseName != "" {
		return r.Spec.ReleaseName
	}
	return r.Name
}
