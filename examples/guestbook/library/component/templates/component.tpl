{{/* These templates use nothing of a chart but its name, version and values.podAnnotations. */}}

{{/* The name of the objects of one component. Takes a list: the root context, the component. */}}
{{- define "component.name" -}}
{{- $root := index . 0 -}}
{{- printf "%s-%s" (trunc 40 $root.Release.Name | trimSuffix "-") (index . 1) -}}
{{- end -}}

{{/* The labels of a selector. Takes a list: the root context, the component. */}}
{{- define "component.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* All labels of an object. Takes a list: the root context, the component. */}}
{{- define "component.labels" -}}
{{- $root := index . 0 -}}
{{ include "component.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end -}}

{{/* The metadata of a pod template. Takes a list: the root context, the component. */}}
{{- define "component.podMetadata" -}}
{{- $root := index . 0 -}}
labels:
  {{- include "component.selector" . | nindent 2 }}
{{- with index $root.Values.podAnnotations (index . 1) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
