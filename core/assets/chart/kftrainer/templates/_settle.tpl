{{/*
What the values change of an object that `kftrainer install` prints. Each gets
{obj, root} and changes obj where it stands.
*/}}
{{- define "settle.ConfigMap" -}}
{{- if hasSuffix "-config" .obj.metadata.name }}
{{- $full := include "fullname" .root }}
{{- $config := deepCopy .root.Values.manager.config }}
{{- $own := $config.leaderElection.resourceNamespace }}
{{- if and $own (ne $own .root.Release.Namespace) }}
{{- fail "manager.config.leaderElection.resourceNamespace: the controller has the right to leases of its own namespace only" }}
{{- end }}
{{- $n := $config.controller.groupKindConcurrency }}
{{- $_ := set $config.controller "groupKindConcurrency" (dict
	"TrainJob.trainer.kubeflow.org" $n.trainJob
	"TrainingRuntime.trainer.kubeflow.org" $n.trainingRuntime
	"ClusterTrainingRuntime.trainer.kubeflow.org" $n.clusterTrainingRuntime) }}
{{- $certs := $config.certManagement }}
{{- $_ := set $certs "webhookServiceName" ($certs.webhookServiceName | default (printf "%s-controller-manager" $full)) }}
{{- $_ := set $certs "webhookSecretName" ($certs.webhookSecretName | default (printf "%s-webhook-cert" (include "name" .root))) }}
{{- $_ := set $config "apiVersion" "config.trainer.kubeflow.org/v1alpha1" }}
{{- $_ := set $config "kind" "Configuration" }}
{{- if not $config.featureGates }}
{{- $_ := unset $config "featureGates" }}
{{- end }}
{{- $_ := set .obj.data "controller_manager_config.yaml" (printf "%s\n" (toYaml $config)) }}
{{- end }}
{{- end }}

{{- define "settle.Role" -}}
{{- $secret := .root.Values.manager.config.certManagement.webhookSecretName }}
{{- range .obj.rules }}
{{- if and (has "secrets" .resources) $secret }}
{{- $_ := set . "resourceNames" (list $secret) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "settle.ValidatingAdmissionPolicy" -}}
{{- $secret := .root.Values.manager.config.certManagement.webhookSecretName }}
{{- $printed := printf "%s-webhook-cert" (include "name" .root) }}
{{- range .obj.spec.matchConditions }}
{{- $_ := set . "expression" (replace (quote $printed) (quote ($secret | default $printed)) .expression) }}
{{- end }}
{{- end }}

{{- define "settle.Service" -}}
{{- $ports := include "ports" .root | fromYaml }}
{{- range .obj.spec.ports }}
{{- if eq .name "status-server" }}{{/* It is in the URL that pods are told. */}}
{{- $_ := set . "port" (get $ports .name | int) }}
{{- end }}
{{- end }}
{{- $_ := set .obj.spec "selector" (include "selector" .root | fromYaml) }}
{{- end }}

{{- define "settle.PodDisruptionBudget" -}}
{{- $_ := set .obj.spec.selector "matchLabels" (include "selector" .root | fromYaml) }}
{{- end }}

{{- define "settle.NetworkPolicy" -}}
{{- $_ := set .obj.spec.podSelector "matchLabels" (include "selector" .root | fromYaml) }}
{{- end }}

{{- define "settle.MutatingWebhookConfiguration" -}}
{{- range .obj.webhooks }}
{{- $_ := set . "failurePolicy" $.root.Values.webhook.failurePolicy }}
{{- end }}
{{- end }}

{{- define "settle.ValidatingWebhookConfiguration" -}}
{{- include "settle.MutatingWebhookConfiguration" . }}
{{- end }}

{{- define "settle.Deployment" -}}
{{- $values := .root.Values.manager }}
{{- $selector := include "selector" .root | fromYaml }}
{{- $spec := .obj.spec }}
{{- $pod := $spec.template }}
{{- $_ := set $spec "replicas" $values.replicas }}
{{- $_ := set $spec.selector "matchLabels" $selector }}
{{- $_ := set $pod.metadata "labels" (merge (deepCopy $selector) $values.labels .root.Values.commonLabels) }}
{{- $ports := include "ports" .root | fromYaml }}
{{- $inbound := printf "%d,%d" (int $ports.webhook) (get $ports "status-server" | int) }}
{{- $_ := set $pod.metadata.annotations "traffic.sidecar.istio.io/excludeInboundPorts" $inbound }}
{{- $_ := set $pod.metadata "annotations" (merge (deepCopy $values.podAnnotations) $pod.metadata.annotations) }}
{{- $_ := set (first $pod.spec.topologySpreadConstraints).labelSelector "matchLabels" $selector }}
{{- range $key := list "nodeSelector" "affinity" "tolerations" "priorityClassName" }}
{{- with get $values $key }}
{{- $_ := set $pod.spec $key . }}
{{- end }}
{{- end }}
{{- with .root.Values.image.pullSecrets }}
{{- $_ := set $pod.spec "imagePullSecrets" . }}
{{- end }}
{{- $_ := set $pod.spec "volumes" (concat $pod.spec.volumes $values.volumes) }}
{{- $container := first $pod.spec.containers }}
{{- range list (first $pod.spec.volumes) (first $container.volumeMounts) }}
{{- $_ := set . "name" "manager-config" }}
{{- end }}
{{- range $container.ports }}
{{- $_ := set . "containerPort" (get $ports .name | int | default .containerPort) }}
{{- end }}
{{- $_ := set $container "image" (include "manager.image" .root) }}
{{- $_ := set $container "imagePullPolicy" .root.Values.image.pullPolicy }}
{{- $_ := set $container "resources" $values.resources }}
{{- $_ := set $container "securityContext" $values.securityContext }}
{{- $_ := set $container "volumeMounts" (concat $container.volumeMounts $values.volumeMounts) }}
{{- range $key := list "env" "envFrom" }}
{{- with get $values $key }}
{{- $_ := set $container $key . }}
{{- end }}
{{- end }}
{{- end }}
