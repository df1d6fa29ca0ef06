{{- define "qtj.labels" -}}
app.kubernetes.io/name: qtj-operator
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/*
The objects of a file in files/, with the labels of this chart, and with the operator's namespace in each subject.

Arguments: root, the name of the file, metadata that is added to each object, and changes: texts and what replaces them.
*/}}
{{- define "qtj.objects" -}}
{{- $root := .root }}
{{- $labels := include "qtj.labels" .root | fromYaml }}
{{- $metadata := merge (dict "labels" $labels) (.metadata | default dict) }}
{{- $text := .root.Files.Get (printf "files/%s" .file) }}
{{- range $old, $new := .changes | default dict }}
{{- $text = replace $old $new $text }}
{{- end }}
{{- range splitList "\n---\n" $text }}
{{- $object := merge (fromYaml .) (dict "metadata" (deepCopy $metadata)) }}
{{- range $object.subjects }}
{{- $_ := set . "namespace" $root.Release.Namespace }}
{{- end }}
---
{{ toYaml $object }}
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
