{{/* The name of the objects of one component, the same in every chart of the release. */}}
{{/* Takes a list: the root context, the component. */}}
{{- define "backend.name" -}}
{{- $root := index . 0 -}}
{{- printf "%s-%s" (trunc 40 $root.Release.Name | trimSuffix "-") (index . 1) -}}
{{- end -}}

{{/* The labels of a selector. Takes a list: the root context, the component. */}}
{{- define "backend.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* All labels of an object. Takes a list: the root context, the component. */}}
{{- define "backend.labels" -}}
{{- $root := index . 0 -}}
{{ include "backend.selector" . }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end -}}

{{/* The metadata of a pod template. Takes a list: the root context, the component. */}}
{{- define "backend.podMetadata" -}}
{{- $root := index . 0 -}}
labels:
  {{- include "backend.selector" . | nindent 2 }}
{{- with index $root.Values.podAnnotations (index . 1) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
