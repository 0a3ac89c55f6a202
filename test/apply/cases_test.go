// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import "strings"

// parityCase is a change of one object, described by manifests. In these, NS stands for the
// namespace, and GROUP for the group of the kind Widget.
type parityCase struct {
	name string
	// before is the manifest that was deployed before, or empty if there was none.
	before string
	// foreign is a change by another client after that, as a merge patch.
	foreign string
	// after is the manifest to apply.
	after string
	// adopted is true if the release adopts the object: before is not known to the client,
	// which computes the patch from the live object.
	adopted         bool
	force, threeWay bool
}

const configMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app.kubernetes.io/managed-by: Helm}}
data: {kept: a, changed: b, removed: c}
`

const configMapAfter = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app.kubernetes.io/managed-by: Helm}, annotations: {new: "yes"}}
data: {kept: a, changed: z, added: d}
`

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: main
        image: nginx:1
        env: [{name: KEPT, value: a}, {name: CHANGED, value: b}, {name: REMOVED, value: c}]
        ports: [{containerPort: 80}]
`

const deploymentAfter = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: sidecar
        image: proxy:1
      - name: main
        image: nginx:2
        env: [{name: ADDED, value: d}, {name: KEPT, value: a}, {name: CHANGED, value: z}]
        ports: [{containerPort: 80}]
`

const service = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80}, {name: old, port: 81}]}
`

const serviceAfter = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web, tier: front}, ports: [{name: http, port: 80, targetPort: 8080}, {name: new, port: 82}]}
`

// role is the manifest of a cluster-scoped object that contains a namespace.
const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NS, namespace: NS, labels: {a: b}}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  names: {kind: Widget, plural: widgets, singular: widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

const definitionAfter = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP, labels: {version: second}}
spec:
  group: GROUP
  names: {kind: Widget, plural: widgets, singular: widget, shortNames: [wg]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

const widget = `
apiVersion: GROUP/v1
kind: Widget
metadata: {name: one, labels: {a: b}}
spec: {kept: 1, changed: 2, removed: 3, list: [1, 2], nested: {x: 1, y: null}}
`

const widgetAfter = `
apiVersion: GROUP/v1
kind: Widget
metadata: {name: one, labels: {a: c}}
spec: {kept: 1, changed: 9, added: 4, list: [2], nested: {x: 1}}
`

const foreignMarks = `{"metadata": {"labels": {"foreign": "label"}, "annotations": {"foreign": "mark"}}}`

func parityCases() []parityCase {
	return []parityCase{
		{name: "config map created", after: configMap},
		{name: "config map unchanged", before: configMap, after: configMap, foreign: foreignMarks},
		{name: "config map changed", before: configMap, after: configMapAfter, foreign: foreignMarks},
		{name: "config map changed by others", before: configMap, after: configMap, foreign: `{"data": {"kept": "other", "removed": null, "foreign": "x"}}`},
		{name: "config map adopted", before: configMap, after: configMapAfter, foreign: foreignMarks, adopted: true},
		{name: "config map replaced", before: configMap, after: configMapAfter, foreign: foreignMarks, force: true},
		{name: "deployment changed", before: deployment, after: deploymentAfter, foreign: foreignMarks},
		{name: "deployment changed by others", before: deployment, after: deployment, foreign: `{"spec": {"replicas": 3, "minReadySeconds": 5, "paused": true}}`},
		{name: "deployment adopted", before: deployment, after: deploymentAfter, foreign: foreignMarks, adopted: true},
		{name: "deployment replaced", before: deployment, after: deploymentAfter, foreign: foreignMarks, force: true},
		{name: "selector is immutable", before: deployment, after: strings.ReplaceAll(deployment, "app: web", "app: other")},
		{name: "selector is immutable for force", before: deployment, after: strings.ReplaceAll(deployment, "app: web", "app: other"), force: true},
		{name: "env without a name", before: deployment, after: strings.Replace(deployment, "{name: KEPT, value: a}", "null", 1)},
		{name: "env of another shape", before: deployment, after: strings.Replace(deployment, "{name: KEPT, value: a}", "KEPT=a", 1)},
		{name: "service changed", before: service, after: serviceAfter, foreign: foreignMarks},
		{name: "service replaced", before: service, after: serviceAfter, foreign: foreignMarks, force: true},
		{name: "invalid object", after: strings.Replace(service, "port: 80", "port: 800000", 1)},
		{name: "cluster role with a namespace unchanged", before: role, after: role, foreign: foreignMarks},
		{name: "cluster role with a namespace changed", before: role, after: strings.Replace(role, "get", "list", 1), foreign: foreignMarks},
		{name: "cluster role with a namespace replaced", before: role, after: strings.Replace(role, "get", "list", 1), foreign: foreignMarks, force: true},
		{name: "definition changed", before: definition, after: definitionAfter, foreign: foreignMarks},
		{name: "definition replaced", before: definition, after: definitionAfter, foreign: foreignMarks, force: true},
		{name: "custom resource created", after: widget},
		{name: "custom resource changed", before: widget, after: widgetAfter, foreign: foreignMarks},
		{name: "custom resource changed by others", before: widget, after: widget, foreign: `{"spec": {"kept": 7}}`},
		{name: "custom resource changed by others, three-way", before: widget, after: widget, foreign: `{"spec": {"kept": 7}}`, threeWay: true},
		{name: "custom resource changed, three-way", before: widget, after: widgetAfter, foreign: `{"spec": {"kept": 7, "foreign": 8}}`, threeWay: true},
		{name: "custom resource adopted", before: widget, after: widgetAfter, foreign: foreignMarks, adopted: true},
		{name: "custom resource adopted, three-way", before: widget, after: widgetAfter, foreign: foreignMarks, adopted: true, threeWay: true},
		{name: "custom resource replaced", before: widget, after: widgetAfter, foreign: foreignMarks, force: true},
	}
}
