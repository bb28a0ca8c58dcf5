{{/* Names and labels as upstream's chart makes them, so that its release can be upgraded. */}}
{{- define "name" -}}
{{- default "kubeflow-trainer" .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "fullname" -}}
{{- $name := include "name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "selector" -}}
app.kubernetes.io/name: {{ include "name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: kubeflow
app.kubernetes.io/component: manager
{{- with .Values.manager.selectorLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/name: {{ include "name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.Version | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: kubeflow
app.kubernetes.io/component: manager
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- with .Values.manager.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* {registry, repository, tag} and what the tag is when it is "". */}}
{{- define "image" -}}
{{- with .image.registry }}{{ . }}/{{ end }}{{ .image.repository }}:{{ .image.tag | default .tag }}
{{- end }}

{{/* By their names in the Deployment, the ports of the configuration. "0" turns metrics off. */}}
{{- define "ports" -}}
{{- with .Values.manager.config }}
health: {{ last (splitList ":" .health.healthProbeBindAddress) }}
metrics: {{ last (splitList ":" (toString .metrics.bindAddress)) }}
webhook: {{ .webhook.port }}
status-server: {{ .statusServer.port }}
{{- end }}
{{- end }}

{{- define "manager.image" -}}
{{- $upstream := "ghcr.io/kubeflow/trainer/trainer-controller-manager" }}
{{- if eq (printf "%s/%s" .Values.image.registry .Values.image.repository) $upstream }}
{{- fail (printf "image: %s is upstream's manager; set image.registry, repository and tag to kftrainer's image" $upstream) }}
{{- end }}
{{- include "image" (dict "image" .Values.image "tag" .Chart.Version) }}
{{- end }}
