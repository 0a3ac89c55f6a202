{{- define "library.name" }}{{ .Release.Name }}-lib{{ end }}
