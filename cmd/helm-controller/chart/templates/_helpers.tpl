{{- define "helm-controller.labels" -}}
app.kubernetes.io/name: helm-controller
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.Version }}
{{- end }}

{{- define "helm-controller.name" -}}
{{ printf "helm-controller-%s" .Release.Namespace | trunc 63 }}
{{- end }}

{{/* The rules for the namespaces of HelmRequests. */}}
{{- define "helm-controller.rules" -}}
- apiGroups: [helm.sh]
  resources: [helmrequests]
  verbs: [patch]
- apiGroups: [helm.sh]
  resources: [helmrequests/status]
  verbs: [patch]
# This is the power of the controller: it can do whatever these service accounts can.
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get, impersonate]
- apiGroups: [events.k8s.io, ""]
  resources: [events]
  verbs: [create, patch]
{{- end }}
