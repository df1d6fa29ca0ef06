{{- define "qtj.labels" -}}
{{- with .Values.commonLabels }}
{{- toYaml . }}
{{ end }}
{{- include "qtj.own" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/*
The label by which the operator is found: the same in each release, whatever its objects are called.
*/}}
{{- define "qtj.own" -}}
app.kubernetes.io/name: qtj-operator
{{- end }}

{{- define "qtj.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride }}
{{- else if .Values.nameOverride }}
{{- contains .Values.nameOverride .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Values.nameOverride) | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- "qtj-operator" }}
{{- end }}
{{- end }}

{{/*
The defaults of values that the chart before did not have: `helm upgrade --reuse-values` gives those of that chart alone.
*/}}
{{- define "qtj.added" -}}
podSecurityContext:
  runAsNonRoot: true
  seccompProfile: {type: RuntimeDefault}
securityContext:
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  readOnlyRootFilesystem: true
livenessProbe: {periodSeconds: 10}
readinessProbe: {periodSeconds: 2}
podDisruptionBudget: {enabled: true, maxUnavailable: 1}
{{- end }}

{{- define "qtj.account" -}}
{{- (.Values.serviceAccount).name | default (include "qtj.fullname" .) }}
{{- end }}

{{/*
The other namespaces with jobs that have the network policies.
*/}}
{{- define "qtj.jobNamespaces" -}}
{{- $listed := concat (.Values.networkPolicy.jobNamespaces | default list) (.Values.watchNamespace | default list) }}
{{- without (uniq $listed) .Release.Namespace | toJson }}
{{- end }}

{{/*
Whether there may be other operators, for other namespaces: "true" or nothing.
*/}}
{{- define "qtj.limited" -}}
{{- if or (eq .Values.scope "Namespace") .Values.watchNamespace }}true{{ end }}
{{- end }}

{{/*
The objects of a file in files/, with the labels of this chart, with the names of this release, and with the operator's
account in each subject.

Arguments: root, the name of the file, metadata that is added to each object, changes: texts and what replaces them, and
kinds, if only these are rendered.
*/}}
{{- define "qtj.objects" -}}
{{- $root := .root }}
{{- $kinds := .kinds }}
{{- $labels := include "qtj.labels" .root | fromYaml }}
{{- $metadata := merge (dict "labels" $labels) (.metadata | default dict) }}
{{- $text := .root.Files.Get (printf "files/%s" .file) }}
{{- range $old, $new := .changes | default dict }}
{{- $text = replace $old $new $text }}
{{- end }}
{{- /* Of names alone: in a label, the same words stand behind a slash. */}}
{{- $name := include "qtj.fullname" $root }}
{{- $text = regexReplaceAll "(?m)(^ *(?:- )?|{)name: qtj-operator" $text (printf "${1}name: %s" $name) }}
{{- $text = replace "job=\"qtj-operator\"" (printf "job=%q" $name) $text }}
{{- range splitList "\n---\n" $text }}
{{- $object := merge (fromYaml .) (dict "metadata" (deepCopy $metadata)) }}
{{- if or (not $kinds) (has $object.kind $kinds) }}
{{- range $object.subjects }}
{{- $_ := set . "namespace" $root.Release.Namespace }}
{{- $_ := set . "name" (include "qtj.account" $root) }}
{{- end }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
{{- end }}

{{/*
The image of TensorBoard. `helm upgrade --reuse-values` from a chart without it gives no value of it.
*/}}
{{- define "qtj.tensorboard" -}}
{{- $image := .Values.tensorboard | default dict }}
{{- printf "%s:%s" ($image.repository | default "localhost/qtj-tensorboard") ($image.tag | default .Chart.AppVersion) }}
{{- end }}

{{/*
The defaults and ceilings of jobs as YAML; empty where there are none.
*/}}
{{- define "qtj.jobSettings" -}}
{{- $settings := .Values.jobSettings | default dict }}
{{- if or $settings.defaults $settings.ceilings $settings.namespaces }}
{{- toYaml $settings }}
{{- end }}
{{- end }}

{{/*
The name of the ConfigMap with them. It changes with what is in it, so that the operator starts again.
*/}}
{{- define "qtj.jobSettingsName" -}}
{{- printf "qtj-operator-jobs-%s" (include "qtj.jobSettings" . | sha256sum | trunc 8) }}
{{- end }}
