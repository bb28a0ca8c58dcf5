#!/bin/bash
# `kftrainer why JOB`: each cause is provoked on a real API server, scheduler and JobSet, and its
# first sentence checked. Nodes are objects, kept alive by their leases; what a kubelet would
# report is written into the pods' status. What needs real containers is in tests/e2e/test_why.sh.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
cluster_shared
ns=why-$$
kt() { kc -n $ns "$@"; }
kc create namespace $ns >"$scratch/namespace"
check "the controller starts" controller_up

# ---- nodes that are objects ----------------------------------------------------------------------
node_up() { # NAME RESOURCES
	kc apply -f - <<-END >/dev/null || return 1
		apiVersion: v1
		kind: Node
		metadata: {name: $1, labels: {kubernetes.io/hostname: $1, test: "$ns"}}
		---
		apiVersion: coordination.k8s.io/v1
		kind: Lease
		metadata: {name: $1, namespace: kube-node-lease}
		spec: {holderIdentity: $1, leaseDurationSeconds: 40, renewTime: "$(now)"}
	END
	kc patch node "$1" --subresource status -p "{\"status\":{\"capacity\":{$2},\"allocatable\":{$2},
		\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"KubeletReady\",
		\"lastHeartbeatTime\":\"$(date -u +%FT%TZ)\",\"lastTransitionTime\":\"$(date -u +%FT%TZ)\"}]}}" >/dev/null &&
		kc taint node "$1" node.kubernetes.io/not-ready- >/dev/null 2>&1
	true
}
now() { date -u +%FT%T.000000Z; }
beat() { # NAME: as long as the file is there, at most a quarter of an hour
	local end=$((SECONDS + 900))
	while [ -e "$scratch/beats-$1" ] && [ $SECONDS -lt $end ]; do
		kc -n kube-node-lease patch lease "$1" --type merge -p "{\"spec\":{\"renewTime\":\"$(now)\"}}" >/dev/null 2>&1
		sleep 4
	done
}
: >"$scratch/beats-w1"
node_up w1 '"cpu":"4","memory":"8Gi","pods":"20"'
beat w1 &

# ---- jobs ----------------------------------------------------------------------------------------
runtime() { # NAME [POD-SPEC [RUNTIME-SPEC [CONTAINER]]]
	kt apply -f - <<-END >/dev/null
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: $1, labels: {trainer.kubeflow.org/framework: plain}}
		spec:
		  mlPolicy: {numNodes: 1}
		  ${3:-}
		  template: {spec: {replicatedJobs: [{name: node, template: {
		    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		    spec: {backoffLimit: 0, template: {spec: {
		      tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}],
		      containers: [{name: node, image: i}${4:+, {name: "$4", image: i\}}]${2:+, $2}}}}}}]}}
	END
}
train() { # NAME RUNTIME [NODES [SPEC [TRAINER [LABELS]]]]
	kt apply -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1, labels: {${6:-}}}
		spec: {runtimeRef: {kind: TrainingRuntime, name: $2}, trainer: {numNodes: ${3:-1}${5:+, $5}}${4:+, $4}}
	END
}
says() { wait_for "${patience:-30}" why_says "$@"; }
pod() { kt get pods -l "jobset.sigs.k8s.io/jobset-name=$1,batch.kubernetes.io/job-completion-index=${2:-0}" -o name; }
has_pods() { wait_for 60 eval "[ \$(kt get pods -l jobset.sigs.k8s.io/jobset-name=$1 -o name | wc -l) = $2 ]"; }
report() { kt patch "$(pod "$1" "$2")" --subresource status -p "{\"status\":$3}" >/dev/null; } # JOB RANK STATUS
placed() { wait_for 60 eval "kt get $(pod "$1" "$2") -o jsonpath={.spec.nodeName} | grep -q ."; }
# There is no kubelet that would let pods go.
gone() {
	kt delete trainjob "$1" --wait=false >/dev/null
	wait_for 30 eval "kt delete pods -l jobset.sigs.k8s.io/jobset-name=$1 --grace-period=0 --force --wait=false; ! kt get jobs -o name | grep /$1-"
	kt delete pods -l "jobset.sigs.k8s.io/jobset-name=$1" --grace-period=0 --force --wait=false >/dev/null 2>&1
}
running='{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"node","image":"i",
	"imageID":"","ready":true,"restartCount":0,"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}]}'
runtime plain

# ---- no such job, no permission ------------------------------------------------------------------
fails() { # CODE PATTERN COMMAND...
	"${@:3}" >"$scratch/out" 2>&1
	local code=$?
	cat "$scratch/out"
	[ $code = "$1" ] && grep -qE -e "$2" "$scratch/out"
}
check "a job that is not there" fails 1 "no TrainJob bert in namespace $ns" why bert
check "a job that waits: it is new" train bert plain 1 "" 'resourcesPerNode: {requests: {cpu: 100}}'
check "a name that is nearly right" fails 1 "no TrainJob bretr?t? in namespace $ns; did you mean .bert.\?" why bret
cluster kubeconfig "$scratch/jane.config" jane people >"$scratch/made"
as_jane() { in_cluster env KUBECONFIG="$scratch/jane.config" "$kftrainer" why -n $ns "$@"; }
check "one who may not read TrainJobs" fails 1 "jane.*may not get trainjobs.trainer.kubeflow.org in namespace $ns.*kubectl auth can-i get trainjobs.trainer.kubeflow.org -n $ns|kubectl auth can-i get trainjobs" as_jane bert
kt create role reader --verb get,list --resource trainjobs.trainer.kubeflow.org >>"$scratch/made"
kt create rolebinding jane --role reader --user jane >>"$scratch/made"
check "a user who may read nothing else is told which rights are missing" wait_for 20 fails 0 \
	"^bert is .* You are not allowed to .*list pods in namespace $ns.* so this answer may be incomplete" as_jane bert
check "... and how to check" grep -q "^Check: kubectl auth can-i list pods -n $ns" "$scratch/out"

# ---- the scheduler -------------------------------------------------------------------------------
check "no node is that large" says bert \
	"^bert is pending: no node can run its pod: 0/. nodes are available: .*Insufficient cpu.*\(a pod requests 100 cpu, but the largest node has 4\)" \
	"kubectl describe pod bert-node-0-0-.* -n $ns"
as_json() {
	why bert -o json | python3 -c '
import json, sys
why = json.load(sys.stdin)
assert why["state"] == "Pending" and why["name"] == "bert", why
assert why["causes"][0]["reason"] == "Unschedulable", why
assert why["causes"][0]["command"].startswith("kubectl describe pod "), why'
}
check "... as JSON" as_json
gone bert
check "a job that fills the node" train big plain 1 "" 'resourcesPerNode: {requests: {cpu: 3}}'
check "... is placed" eval 'has_pods big 1 && placed big 0'
check "one for which there is no room left" train small plain 2 "" 'resourcesPerNode: {requests: {cpu: 2}}'
check "... the request, and what is free" says small \
	"^small is pending: no node can run its 2 pods: .*Insufficient cpu.*\(a pod requests 2 cpu, but no node has more than 1 free \(of 4\)\)"
check "a resource that no node has" train gpu plain 1 "" 'resourcesPerNode: {limits: {nvidia.com/gpu: 8}}'
check "... is named" says gpu "^gpu is pending: .*Insufficient nvidia.com/gpu.*\(a pod requests 8 nvidia.com/gpu, which no node has\)"
runtime a100 'nodeSelector: {gpu: a100}'
check "a node selector" train selects a100
check "... is named" says selects "^selects is pending: no node can run its pod: .*node affinity/selector.*its nodeSelector is gpu=a100"
scaler_says() { # JOB REASON TEXT
	local pod
	pod=$(pod "$1")
	kt create -f - <<-END >/dev/null
		apiVersion: v1
		kind: Event
		metadata: {name: scaler-$1, namespace: $ns}
		involvedObject: {apiVersion: v1, kind: Pod, namespace: $ns, name: ${pod#pod/}}
		reason: $2
		message: "$3"
		type: Normal
		source: {component: cluster-autoscaler}
		lastTimestamp: "$(date -u +%FT%TZ)"
	END
}
check "a cluster autoscaler says what it does" scaler_says selects TriggeredScaleUp "pod triggered scale-up: [{gpu 0->1 (max: 4)}]"
check "... which is told" says selects "its nodeSelector is gpu=a100\); cluster-autoscaler, [0-9]+s ago: pod triggered scale-up: .{gpu 0->1"
runtime gates 'schedulingGates: [{name: example.com/wait}]'
check "scheduling gates" train gated gates
check "... hold it" says gated "^gated is pending: its pod is not scheduled until its spec.schedulingGates are removed"
runtime nobody 'schedulerName: nobody'
check "a scheduler that does not exist" train unseen nobody
check "... has said nothing" says unseen "^unseen is pending: the scheduler nobody has not processed its pods for .*is it running"
gone gpu
gone selects
gone gated
gone unseen
gone small

# ---- gangs ---------------------------------------------------------------------------------------
runtime gang '' 'podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 60}}'
gone big
check "a gang of which a part fits" train gang gang 3 "" 'resourcesPerNode: {requests: {cpu: 2}}'
check "... what all nodes together have room for" says gang \
	"^gang is pending: its gang needs 3 \(minMember of PodGroup gang\), but all nodes together have room for 2 \(cpu\)"
gone gang
check "a gang beside another job" train fills plain 1 "" 'resourcesPerNode: {requests: {cpu: 2}}'
check "... that has its node" eval 'has_pods fills 1 && placed fills 0'
check "... of which a part fits" train part gang 3 "" 'resourcesPerNode: {requests: {cpu: 1}}'
check "... what it needs, what there is room for, and the scheduler's words" says part \
	"^part is pending: its gang needs 3, room for 2 \(cpu\): [0-2] of its 3 pods have a node \(minMember of PodGroup part\): .*Insufficient cpu"
gone part
gone fills

# ---- volume claims -------------------------------------------------------------------------------
runtime noclaim 'volumes: [{name: v, persistentVolumeClaim: {claimName: absent}}]'
check "a claim that is not there" train noclaim noclaim
check "... is named" says noclaim "^noclaim is pending: its pods use the PersistentVolumeClaim absent, which does not exist"
kt apply -f - <<-END >/dev/null
	apiVersion: v1
	kind: PersistentVolumeClaim
	metadata: {name: waits}
	spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
END
runtime claim 'volumes: [{name: v, persistentVolumeClaim: {claimName: waits}}]'
check "a claim that is not bound" train claim claim
check "... is named, with its controller's words" says claim \
	"^claim is pending: its PersistentVolumeClaim waits is Pending \(storage class none\): no persistent volumes available" \
	"kubectl describe persistentvolumeclaim waits"
gone noclaim
gone claim

# ---- what may not be made ------------------------------------------------------------------------
kt create quota pods --hard=requests.cpu=1 >>"$scratch/made"
check "a ResourceQuota" train quota plain 1 "" 'resourcesPerNode: {requests: {cpu: 2}}'
check "... is reported in the API server's words" says quota \
	"^quota is pending: its pods cannot be created: a ResourceQuota of the namespace is used up: exceeded quota: pods, requested: requests.cpu=2, used: .*, limited: requests.cpu=1" \
	"kubectl describe resourcequota -n $ns"
gone quota
kt delete quota pods >>"$scratch/made"
kt create quota jobsets --hard=count/jobsets.jobset.x-k8s.io=0 >>"$scratch/made"
check "a ResourceQuota of JobSets" train nojobset plain
check "... keeps the job's objects from being made" says nojobset \
	"^nojobset is pending: its objects cannot be created: a ResourceQuota of the namespace is used up: exceeded quota: jobsets"
gone nojobset
kt delete quota jobsets >>"$scratch/made"
kt apply -f - <<-END >/dev/null
	apiVersion: v1
	kind: LimitRange
	metadata: {name: small}
	spec: {limits: [{type: Container, max: {cpu: "1"}}]}
END
check "a LimitRange" train limits plain 1 "" 'resourcesPerNode: {requests: {cpu: 2}, limits: {cpu: 2}}'
check "... is reported" says limits \
	"^limits is pending: its pods cannot be created: a LimitRange of the namespace does not allow them: maximum cpu usage per Container is 1, but limit is 2"
gone limits
kt patch limitrange small --type merge -p '{"spec":{"limits":[{"type":"Container","default":{"cpu":"1"}}]}}' >>"$scratch/made"
check "the default of a LimitRange" train default plain 1 "" 'resourcesPerNode: {requests: {cpu: 2}}'
check "... is reported" says default \
	"^default is pending: its pods cannot be created: a request exceeds its limit, which is the default of a LimitRange .*must be less than or equal to cpu limit of 1" \
	"kubectl describe limitrange -n $ns"
gone default
kt delete limitrange small >>"$scratch/made"
runtime account 'serviceAccountName: nobody'
check "a service account that is not there" train account account
check "... is reported" says account "^account is pending: its pods cannot be created: their service account does not exist: .*serviceaccount \"nobody\" not found"
gone account
kc label namespace $ns pod-security.kubernetes.io/enforce=restricted >>"$scratch/made"
check "Pod Security" train secure plain
check "... is reported" says secure "^secure is pending: its pods cannot be created: the namespace's Pod Security level does not allow them: .*violates PodSecurity"
gone secure
kc label namespace $ns pod-security.kubernetes.io/enforce- >>"$scratch/made"
long=$(printf 'x%.0s' {1..60})
check "a name that is too long for JobSet's webhook" train "$long" plain
check "... which is reported" says "$long" \
	"^$long is pending: its objects cannot be created: an admission webhook refuses them: .*denied the request"
gone "$long"

# ---- suspended -----------------------------------------------------------------------------------
check "a suspended job" train asleep plain 1 "suspend: true"
check "... says so" says asleep "^asleep is suspended: spec.suspend has been true for " "kftrainer resume asleep -n $ns"
check "one for Kueue, which is not there" train queued plain 1 "suspend: true" "" 'kueue.x-k8s.io/queue-name: q'
kueue_less() { ! kc get --raw /apis/kueue.x-k8s.io >/dev/null 2>&1; }
if kueue_less; then
	check "... says so" says queued "^queued is suspended: it is for Kueue's queue q .*but Kueue is not installed in the cluster"
fi
gone asleep
gone queued

# ---- what runs -----------------------------------------------------------------------------------
check "a job whose pods start" train runs plain 2
check "... are there" eval 'has_pods runs 2 && placed runs 0 && placed runs 1'
check "... nothing is wrong with it so far" says runs "^runs is pending: its pods are starting: 0 of 2 are ready"
check "they run" eval 'report runs 0 "$running" && report runs 1 "$running"'
check "... and nothing is wrong" says runs "^runs is running: no problem found: 2 of 2 pods have been running for .*; it reports no progress"
progress() { # PERCENT TIME
	kt patch trainjob runs --subresource status --type merge -p "{\"status\":{\"trainerStatus\":
		{\"progressPercentage\":$1,\"estimatedRemainingSeconds\":90,\"lastUpdatedTime\":\"$2\"}}}" >/dev/null
}
check "it reports progress" progress 40 "$(date -u +%FT%TZ)"
check "... which is reported" says runs "^runs is running: no problem found: .*; 40 % done, about 90s are left"
check "its progress stalls" progress 41 "$(date -u -d '-20 minutes' +%FT%TZ)"
check "... which is reported" says runs "^runs is running: its progress has not changed for 20m[0-9s]*, at 41 %"
done_='{"phase":"Succeeded","conditions":[{"type":"Ready","status":"False","reason":"PodCompleted"}],"containerStatuses":[{"name":"node","image":"i",
	"imageID":"","ready":false,"restartCount":0,"state":{"terminated":{"exitCode":0,"finishedAt":"2026-01-01T00:00:09Z"}}}]}'
meshed='{"phase":"Running","conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"node","image":"i",
	"imageID":"","ready":false,"restartCount":0,"state":{"terminated":{"exitCode":0,"finishedAt":"2026-01-01T00:00:09Z"}}},
	{"name":"istio-proxy","image":"i","imageID":"","ready":true,"restartCount":0,"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}]}'
runtime mesh '' '' istio-proxy
check "a job whose pods have a container of a service mesh" eval 'train meshed mesh && has_pods meshed 1 && placed meshed 0'
check "... which goes on after the training" eval 'report meshed 0 "$meshed"'
check "... is told of it" says meshed "^meshed is running: container node of node-0 .* ended with exit code 0 .* while container istio-proxy runs"
gone meshed
check "its pods succeed" eval 'report runs 0 "$done_" && report runs 1 "$done_"'
check "... and it is complete" says runs "^runs completed .* ago, .* after it was created"

# ---- deadline, preemption ------------------------------------------------------------------------
check "a job with a deadline" train late plain 1 "activeDeadlineSeconds: 3" 'resourcesPerNode: {requests: {cpu: 100}}'
check "... runs into it" says late \
	"^late has failed: it was stopped because it exceeded its deadline of 3 s \(spec.activeDeadlineSeconds\)"
kc apply -f - <<-END >/dev/null
	apiVersion: scheduling.k8s.io/v1
	kind: PriorityClass
	metadata: {name: urgent-$$}
	value: 1000
END
check "a job that leaves no room" train weak plain 1 "" 'resourcesPerNode: {requests: {cpu: 3}}'
check "... runs" eval 'has_pods weak 1 && placed weak 0 && report weak 0 "$running"'
runtime urgent "priorityClassName: urgent-$$"
check "one of higher priority" train urgent urgent 1 "" 'resourcesPerNode: {requests: {cpu: 3}}'
check "... takes its place" says weak "^weak (is|has) .*node-0 \(node rank 0\), pod weak-node-0-0-.* on node w1, was preempted by a pod of higher priority \(PreemptionByScheduler\)"
kt delete pods --all --grace-period=0 --force >/dev/null 2>&1
gone weak
gone urgent

# ---- a failed rank, without a kubelet ------------------------------------------------------------
failed() { # CODE SECOND
	echo "{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"node\",\"image\":\"i\",\"imageID\":\"\",\"ready\":false,\"restartCount\":0,
	\"state\":{\"terminated\":{\"exitCode\":$1,\"reason\":\"Error\",\"finishedAt\":\"2026-01-01T00:00:0$2Z\"}}}]}"
}
check "a job of two ranks" eval 'train ranks plain 2 && has_pods ranks 2 && placed ranks 0 && placed ranks 1'
check "... which fail" eval 'report ranks 1 "$(failed 139 4)" && report ranks 0 "$(failed 5 9)"'
check "... the first in time is named" says ranks \
	"^ranks has failed: the first failure is that of node-1 \(node rank 1\), pod ranks-node-0-1-.* on node w1: container node ended with exit code 139 \(SIGSEGV\)"
gave_up() { why ranks | grep -E 'Also: Job ranks-node-0 gave up, Job has reached the specified backoff limit \(BackoffLimitExceeded\)'; }
check "... and that the Job gave up" wait_for 60 gave_up
evicted='{"phase":"Failed","reason":"Evicted","message":"The node was low on resource: memory."}'
check "an evicted pod" eval 'train evicted plain && has_pods evicted 1 && placed evicted 0 && report evicted 0 "$evicted"'
check "... is reported" says evicted "^evicted has failed: the first failure is that of node-0 \(node rank 0\), pod .* on node w1, was evicted by its node \(Evicted\): The node was low on resource: memory"

# ---- a deletion that waits -----------------------------------------------------------------------
check "a job whose JobSet somebody holds" eval 'train held plain && has_pods held 1 && kt patch jobset held --type merge -p "{\"metadata\":{\"finalizers\":[\"example.com/hold\"]}}"'
check "... is deleted" eval 'kt delete trainjob held --cascade=foreground --wait=false; kt delete pods -l jobset.sigs.k8s.io/jobset-name=held --grace-period=0 --force --wait=false'
check "... which is reported" says held "^held is being deleted: its JobSet's finalizer example.com/hold has not been removed" "kubectl describe jobset held"
kt patch jobset held --type merge -p '{"metadata":{"finalizers":null}}' >>"$scratch/made"

# ---- pods that do not go -------------------------------------------------------------------------
check "a job of which a pod is deleted" eval 'train goes plain 2 && has_pods goes 2 && placed goes 1 && report goes 0 "$running" && report goes 1 "$running" && kt delete "$(pod goes 1)" --wait=false'
check "... is reported, and what follows" says goes "^goes is pending: .*node-[01] .*, pod goes-node-0-.* on node w1, ha(s|ve) been terminating for [0-9]+s.*; then Job goes-node-0 fails: .*BackoffLimitExceeded"
gone goes

# ---- a node that is lost -------------------------------------------------------------------------
check "a job on a node" eval 'train lost plain && has_pods lost 1 && placed lost 0 && report lost 0 "$running"'
rm "$scratch/beats-w1" # its node says nothing any more
patience=90
check "... is reported" says lost "^lost is (running|pending): node w1, on which node-0 \(node rank 0\) is, has not been ready for .*: Kubelet stopped posting node status"
gone lost

# ---- nobody acts ---------------------------------------------------------------------------------
patience=30
cluster stop jobset
check "a job while JobSet's webhooks are away" train hookless plain
check "... is reported" says hookless "^hookless is pending: its objects cannot be created: an admission webhook does not answer: .*jobset"
jobset_hooks=$(kc get validatingwebhookconfigurations,mutatingwebhookconfigurations -o name | grep jobset)
# shellcheck disable=SC2086
kc get $jobset_hooks -o yaml >"$scratch/jobset-hooks" && kc delete $jobset_hooks >>"$scratch/made"
check "... and then only its controller" says hookless \
	"^hookless is pending: the JobSet controller has not processed the JobSet for .*: it has neither a status nor Jobs; is the controller running\?$"
sed -i '/resourceVersion:\|uid:/d' "$scratch/jobset-hooks"
kc create -f - <"$scratch/jobset-hooks" >>"$scratch/made"
cluster start jobset
gone hookless
runtime other
controller_down
kc get validatingwebhookconfigurations,mutatingwebhookconfigurations -o name | grep trainer >"$scratch/hooks"
xargs -a "$scratch/hooks" tests/cluster/cluster.sh "$cluster_name" exec kubectl delete >>"$scratch/made"
check "a job while no controller runs" train alone plain
check "... says so" says alone \
	"^alone is pending: the Kubeflow Trainer controller has not processed it for .*: it has neither a status nor a JobSet" \
	"kubectl get pods -n kubeflow-system"
check "a job whose runtime is deleted" eval 'train orphan other && kt delete trainingruntime other'
check "... is reported" says orphan "^orphan is pending: the TrainingRuntime other that it refers to does not exist in namespace $ns" "kubectl get trainingruntimes -n $ns"
check "a job of another controller" train away plain 1 'managedBy: kueue.x-k8s.io/multikueue'
check "... is reported" says away "^away is pending: spec.managedBy names another controller"
kc delete node w1 >/dev/null
kc delete priorityclass "urgent-$$" >/dev/null
kc delete namespace $ns --wait=false >/dev/null
finish
