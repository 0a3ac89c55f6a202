// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import "testing"

const (
	classes = `{kind: StorageClass, cluster: true, metadata: {name: now}, provisioner: disk.example.com, volumeBindingMode: Immediate}
		{kind: StorageClass, cluster: true, metadata: {name: wait}, provisioner: disk.example.com, volumeBindingMode: WaitForFirstConsumer}
		{kind: StorageClass, cluster: true, metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: Immediate}
	`
	usesData = `{kind: Pod, pending: true, metadata: {name: web}, spec: {volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: `
)

func claim(spec string) string {
	return `{kind: PersistentVolumeClaim, metadata: {name: data}, spec: {` + spec + `}, status: {phase: Pending}}` + "\n"
}

func TestClaims(t *testing.T) {
	unbound := usesData + "pod has unbound immediate PersistentVolumeClaims}]}}\n"
	runCases(t, map[string]explainCase{
		"storage class missing": {
			subject: "PersistentVolumeClaim shop/data",
			objects: classes + claim("storageClassName: fast") + `{event: ProvisioningFailed, about: data, message: 'storageclass.storage.k8s.io "fast" not found', count: 9}`,
			want:    []string{`PersistentVolumeClaim shop/data: MissingObject: StorageClass "fast" not found (referenced by storageClassName); existing storage classes: local, now, wait`},
		},
		"storage class missing and classes may not be read": {
			subject: "PersistentVolumeClaim shop/data",
			faults:  map[string]int{"list storageclasses": 403},
			objects: claim("storageClassName: fast") + `{event: ProvisioningFailed, about: data, message: 'storageclass.storage.k8s.io "fast" not found', count: 9}`,
			want:    []string{`PersistentVolumeClaim shop/data: MissingObject: StorageClass "fast" not found (referenced by storageClassName)`},
		},
		"provisioning failed": {
			subject: "PersistentVolumeClaim shop/data",
			objects: classes + claim("storageClassName: now") + `{event: ProvisioningFailed, about: data, message: out of disks}`,
			want:    []string{"PersistentVolumeClaim shop/data: ProvisioningFailed: out of disks"},
		},
		"being provisioned": {
			subject: "PersistentVolumeClaim shop/data",
			objects: classes + claim("storageClassName: now"),
			want:    []string{"PersistentVolumeClaim shop/data: Provisioning: waiting for a volume from provisioner disk.example.com"},
		},
		"waits for its pod": {
			subject: "PersistentVolumeClaim shop/data",
			objects: classes + claim("storageClassName: wait"),
			want:    []string{"PersistentVolumeClaim shop/data: WaitForFirstConsumer: storage class wait provisions a volume only when a pod that uses the claim is scheduled"},
		},
		"no volume of a class that makes none": {
			subject: "PersistentVolumeClaim shop/data",
			objects: classes + claim("storageClassName: local"),
			want:    []string{"PersistentVolumeClaim shop/data: FailedBinding: no existing volume of storage class local matches, and this class does not provision volumes"},
		},
		"no class, no default": {
			subject: "PersistentVolumeClaim shop/data",
			objects: classes + claim(""),
			want:    []string{"PersistentVolumeClaim shop/data: FailedBinding: no storage class is set, the cluster has no default storage class, and no existing volume matches"},
		},
		"no volume without a class": {
			subject: "PersistentVolumeClaim shop/data",
			objects: classes + claim(`storageClassName: ""`),
			want:    []string{`PersistentVolumeClaim shop/data: FailedBinding: no existing volume matches, and none is provisioned because storageClassName is ""`},
		},
		"volume missing": {
			subject: "PersistentVolumeClaim shop/data",
			objects: classes + claim("volumeName: disk-1"),
			want:    []string{`PersistentVolumeClaim shop/data: MissingObject: PersistentVolume "disk-1" not found (referenced by spec.volumeName)`},
			brief:   []string{"PersistentVolumeClaim shop/data: NotBound: volume disk-1 is not bound to it: the volume may not match, or be bound to another claim"},
		},
		"lost": {
			subject: "PersistentVolumeClaim shop/data",
			objects: `{kind: PersistentVolumeClaim, metadata: {name: data}, spec: {volumeName: disk-1}, status: {phase: Lost}}`,
			want:    []string{"PersistentVolumeClaim shop/data: ClaimLost: its volume disk-1 no longer exists, and its data is lost"},
		},
		"pod follows its claim": {
			subject: "Pod shop/web",
			objects: classes + claim("storageClassName: fast") + unbound,
			want:    []string{`PersistentVolumeClaim shop/data: MissingObject: StorageClass "fast" not found (referenced by storageClassName); existing storage classes: local, now, wait`},
			brief:   []string{"Pod shop/web: Unschedulable: pod has unbound immediate PersistentVolumeClaims"},
		},
		"pod with a claim that waits for it is unschedulable for another reason": {
			subject: "Pod shop/web",
			objects: classes + claim("storageClassName: wait") + usesData + "Insufficient cpu}]}}",
			want:    []string{"Pod shop/web: Unschedulable: Insufficient cpu"},
		},
		"pod whose claim is missing": {
			subject: "Pod shop/web",
			objects: usesData + `'persistentvolumeclaim "data" not found'}]}}`,
			want:    []string{`Pod shop/web: MissingObject: PersistentVolumeClaim "data" not found (referenced by volume "d")`},
		},
	})
}

func TestOtherKinds(t *testing.T) {
	apiService := `{kind: APIService, cluster: true, metadata: {name: v1.x}, spec: {service: {namespace: shop, name: api}}, status: {conditions: [{type: Available, status: "False", reason: MissingEndpoints, message: no endpoints}]}}` + "\n"
	runCases(t, map[string]explainCase{
		"Service without address": {
			subject: "Service shop/lb",
			objects: `{kind: Service, metadata: {name: lb}, spec: {type: LoadBalancer}}
				{event: SyncLoadBalancerFailed, about: lb, message: no addresses left, series: {count: 4, lastObservedTime: "1999-12-31T23:59:58.000000Z"}, eventTime: "1999-12-31T20:00:00.000000Z"}`,
			want:  []string{"Service shop/lb: SyncLoadBalancerFailed: no addresses left (4 times)", "Service shop/lb: NoAddress: waiting for a load balancer address"},
			brief: []string{"Service shop/lb: SyncLoadBalancerFailed: no addresses left", "Service shop/lb: NoAddress: waiting for a load balancer address"},
		},
		"Ingress without its class": {
			subject: "Ingress shop/web",
			objects: `{kind: Ingress, metadata: {name: web}, spec: {ingressClassName: nginx}}`,
			want:    []string{`Ingress shop/web: MissingObject: IngressClass "nginx" not found (referenced by spec.ingressClassName)`},
			brief:   []string{"Ingress shop/web: NoAddress: waiting for an address from an ingress controller"},
		},
		"APIService without its Service": {
			subject: "APIService v1.x",
			objects: apiService,
			want:    []string{`APIService v1.x: MissingObject: Service "shop/api" not found (referenced by spec.service)`},
		},
		"APIService whose Service has no pods": {
			subject: "APIService v1.x",
			objects: apiService + `{kind: Service, metadata: {name: api}, spec: {selector: {app: api}}}`,
			want:    []string{"Service shop/api: NoEndpoints: no endpoints: no pod matches its selector"},
		},
		"APIService whose pods crash": {
			subject: "APIService v1.x",
			objects: apiService + `{kind: Service, metadata: {name: api}, spec: {selector: {app: api}}}
				{kind: EndpointSlice, metadata: {name: api-1, labels: {kubernetes.io/service-name: api}}, endpoints: [{conditions: {ready: false}}]}
				{kind: Pod, metadata: {name: api-a, labels: {app: api}}, spec: {containers: [{name: app}]}, ` + crashed,
			want: []string{"Pod shop/api-a container app: CrashLoopBackOff: exited with code 1, restarted 2 times", "Service shop/api: NoEndpoints: no ready endpoints"},
		},
		"APIService that answers wrongly": {
			subject: "APIService v1.x",
			objects: `{kind: APIService, cluster: true, metadata: {name: v1.x}, spec: {service: {namespace: shop, name: api}}, status: {conditions: [{type: Available, status: "False", reason: FailedDiscoveryCheck, message: "bad status: 500"}]}}
				{kind: Service, metadata: {name: api}, spec: {selector: {app: api}}}
				{kind: EndpointSlice, metadata: {name: api-1, labels: {kubernetes.io/service-name: api}}, endpoints: [{conditions: {}}]}`,
			want: []string{"APIService v1.x: FailedDiscoveryCheck: Available is False: bad status: 500"},
		},
		"CustomResourceDefinition": {
			subject: "CustomResourceDefinition widgets.example.com",
			objects: `{kind: CustomResourceDefinition, cluster: true, metadata: {name: widgets.example.com}, status: {conditions: [{type: Established, status: "False", reason: NotAccepted, message: not all names are accepted}, {type: NamesAccepted, status: "False", reason: PluralConflict, message: '"widgets" is already in use'}, {type: NonStructuralSchema, status: "False"}]}}`,
			want:    []string{`CustomResourceDefinition widgets.example.com: PluralConflict: NamesAccepted is False: "widgets" is already in use`},
		},
		"custom resource with its events in its namespace": {
			subject: "Widget shop/w",
			objects: `{kind: Widget, metadata: {name: w}, status: {conditions: [{type: Ready, status: "False", message: cannot}, {type: Degraded, status: "True", reason: Slow}, {type: Stalled, status: "False"}, {type: Reconciling, status: "False", message: not now}, "odd"]}}
				{event: Oops, about: w, message: it broke}`,
			want: []string{"Widget shop/w: Oops: it broke", "Widget shop/w: Ready: Ready is False: cannot", "Widget shop/w: Slow: Degraded is True"},
		},
		"object outside namespaces has its events in default": {
			subject: "Widget w",
			objects: `{kind: Widget, cluster: true, metadata: {name: w}}
				{event: Oops, about: w, message: it broke, metadata: {namespace: default}}`,
			want: []string{"Widget w: Oops: it broke"},
		},
		"HorizontalPodAutoscaler": {
			subject: "HorizontalPodAutoscaler shop/h",
			objects: `{kind: HorizontalPodAutoscaler, metadata: {name: h}, status: {conditions: [{type: AbleToScale, status: "False", reason: FailedGetScale, message: 'the target: web not found'}, {type: ScalingLimited, status: "False"}]}}
				{event: FailedGetScale, about: h, message: web not found, count: 3}`,
			want:  []string{"HorizontalPodAutoscaler shop/h: FailedGetScale: web not found (3 times)"},
			brief: []string{"HorizontalPodAutoscaler shop/h: FailedGetScale: web not found"},
		},
		"finalizers": {
			subject: "Widget shop/w",
			objects: `{kind: Widget, metadata: {name: w, deletionTimestamp: "1999-12-31T21:00:00Z", finalizers: [a, b]}}
				{event: DeleteFailed, about: w, message: bucket is not empty}`,
			want:  []string{"Widget shop/w: Terminating: terminating for 3h, waiting for finalizers: a, b", "Widget shop/w: DeleteFailed: bucket is not empty"},
			brief: []string{"Widget shop/w: Terminating: being deleted, waiting for finalizers: a, b"},
		},
		"forbidden": {
			subject: "Deployment shop/web",
			faults:  map[string]int{"list pods": 403, "list events": 403},
			objects: web + newSet,
			want:    []string{"Deployment shop/web: Forbidden: no permission to list pods in namespace shop, so the cause is unknown"},
		},
		"forbidden, and only the symptom known": {
			subject: "Deployment shop/web",
			faults:  map[string]int{"list replicasets": 403},
			objects: `{kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}}, status: {conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: timed out}]}}`,
			want: []string{
				"Deployment shop/web: ProgressDeadlineExceeded: timed out",
				"Deployment shop/web: Forbidden: no permission to list replicasets.apps in namespace shop, so the cause is unknown",
			},
		},
		"events forbidden, but a condition speaks": {
			subject: "Widget shop/w",
			faults:  map[string]int{"list events": 403},
			objects: `{kind: Widget, metadata: {name: w}, status: {conditions: [{type: Ready, status: "False", message: cannot}]}}`,
			want:    []string{"Widget shop/w: Ready: Ready is False: cannot"},
		},
		"events forbidden, and nothing else known": {
			subject: "Widget shop/w",
			faults:  map[string]int{"list events": 403},
			objects: `{kind: Widget, metadata: {name: w}}`,
			want:    []string{"Widget shop/w: Forbidden: no permission to list events in namespace shop, so the cause is unknown"},
		},
		"forbidden, but something was found": {
			subject: "Deployment shop/web",
			faults:  map[string]int{"list pods": 403, "list events": 403},
			objects: web + refused + "quota}]}}",
			want:    []string{"ReplicaSet shop/web-2: FailedCreate: quota"},
		},
		"ReplicaSets that cannot be listed": {
			subject: "Deployment shop/web",
			faults:  map[string]int{"list replicasets": 400},
			objects: web,
		},
	})
}
