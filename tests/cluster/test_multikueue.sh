#!/bin/bash
# MultiKueue: Kueue in a manager's cluster gives TrainJobs to a worker's. Two control planes, joined by
# a wire between their network namespaces; our controller and Kueue's run in both. There is no
# kubelet, so what one would report is written into the pods' status.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/cluster/kueue.sh
. "$(dirname "$0")/kueue.sh"
ns=multi-$$
worker_ip=10.251.0.2

# worker COMMAND...: a command, or a function of lib.sh or kueue.sh, in the worker's cluster.
# shellcheck disable=SC2034 # they are the variables of those functions
worker() {
	local cluster_name=w$$ scratch=$scratch/worker cluster_state inside kubectl kueue_log controller_log
	cluster_found && "$@"
}
both() { "$@" && worker "$@"; }

cluster_possible
mkdir "$scratch/worker"
cluster_name=w$$ cluster up 2>"$scratch/worker/cluster" &
cluster_up
wait $!
at_exit 'cluster_name=w$$ cluster down; cluster_end'
check "the worker's control plane starts" eval '[ -d "${KFT_CLUSTERS:-build/clusters}/w$$" ] || { cat "$scratch/worker/cluster"; false; }'
wire() {
	in_cluster ip link add worker type veth peer name manager netns "kft-w$$" &&
		in_cluster ip addr add 10.251.0.1/30 dev worker && in_cluster ip link set worker up &&
		worker in_cluster ip addr add $worker_ip/30 dev manager &&
		worker in_cluster ip link set manager up
}
check "a wire to the manager's" wire
at_once() { # COMMAND...: in both
	local pid
	worker "$@" >"$scratch/worker/said" 2>&1 &
	pid=$!
	"$@"
	wait $pid || {
		cat "$scratch/worker/said"
		return 1
	}
}
check "our controller starts in both" at_once controller_up
check "Kueue starts in both" at_once kueue_up team 4

# ---- manager and worker --------------------------------------------------------------------------
objects() {
	kc create namespace $ns && { local_queues mine team; cat <<-END; } | kc -n $ns apply -f -
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: once}
		spec:
		  mlPolicy: {numNodes: 2, torch: {}}
		  template: {spec: {replicatedJobs: [{name: node, template: {
		    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		    spec: {backoffLimit: 0, template: {spec: {containers: [{name: node, image: i}]}}}}}]}}
	END
}
check "a queue and a runtime, in both" both objects
# What Kueue needs in the worker's cluster, and no more.
rights() {
	kc apply -f - <<-END
		apiVersion: v1
		kind: ServiceAccount
		metadata: {name: manager, namespace: kueue-system}
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: ClusterRole
		metadata: {name: kueue-manager}
		rules:
		- {apiGroups: [kueue.x-k8s.io], resources: [workloads], verbs: [create, delete, get, list, patch, update, watch]}
		- {apiGroups: [kueue.x-k8s.io], resources: [workloads/status], verbs: [get, patch, update]}
		- {apiGroups: [trainer.kubeflow.org], resources: [trainjobs], verbs: [create, delete, get, list, watch]}
		- {apiGroups: [jobset.x-k8s.io], resources: [jobsets], verbs: [create, delete, get, list, watch]}
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: ClusterRoleBinding
		metadata: {name: kueue-manager}
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kueue-manager}
		subjects: [{kind: ServiceAccount, name: manager, namespace: kueue-system}]
	END
	cluster kubeconfig "$scratch/manager.kubeconfig" system:serviceaccount:kueue-system:manager
}
multikueue() {
	sed -i "s|server: .*|server: https://$worker_ip:6443\n    tls-server-name: kubernetes|" "$scratch/worker/manager.kubeconfig"
	kc -n kueue-system create secret generic worker "--from-file=kubeconfig=$scratch/worker/manager.kubeconfig" &&
		kc apply -f - <<-END &&
			apiVersion: kueue.x-k8s.io/v1beta2
			kind: MultiKueueCluster
			metadata: {name: east}
			spec: {clusterSource: {kubeConfig: {location: worker, locationType: Secret}}}
			---
			apiVersion: kueue.x-k8s.io/v1beta2
			kind: MultiKueueConfig
			metadata: {name: clusters}
			spec: {clusters: [east]}
			---
			apiVersion: kueue.x-k8s.io/v1beta2
			kind: AdmissionCheck
			metadata: {name: clusters}
			spec:
			  controllerName: kueue.x-k8s.io/multikueue
			  parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: clusters}
		END
		kc patch clusterqueue team --type merge -p '{"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":"clusters"}]}}}'
}
check "the manager gets an account in the worker's cluster" worker rights
check "... and a MultiKueueCluster" multikueue
check "... which is connected" kc wait multikueuecluster/east --for=condition=Active --timeout=120s
check "... so that the queue is active" kc wait clusterqueue/team --for=condition=Active --timeout=120s

kn() { kc -n $ns "$@"; }
kt() { in_cluster "$kftrainer" "$@" -n $ns; }
train() { # NAME [MORE]
	kn create -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: mine}}
		spec: {runtimeRef: {kind: TrainingRuntime, name: ${runtime:-once}}${2:-}, activeDeadlineSeconds: 3600,
		       trainer: {numNodes: 2, resourcesPerNode: {requests: {cpu: 1}}}}
	END
}
of() { kn get trainjob "$1" -o "jsonpath={$2}"; }
is() { # WHAT COMMAND...: that it prints
	local said
	said=$("${@:2}") || return 1
	[ "$said" = "$1" ] || { echo "$said"; return 1; }
}
becomes() { wait_for 30 is "$@"; }
has_pods() { is "$2" eval "kn get pods -l jobset.sigs.k8s.io/jobset-name=$1 -o name | wc -l"; }
# Its pods are in the worker, and the manager has heard that it is admitted there: what comes after that it hears, too.
admitted() { wait_for 30 worker has_pods "$1" 2 && becomes false of "$1" .spec.suspend; }
nothing_of() { ! kn get trainjobs,workloads,jobsets,pods -o name | grep -e "$1"; }
no_objects() { ! kn get jobsets,jobs,pods,podgroups -o name | grep .; }
report() { report_pods $ns "jobset.sigs.k8s.io/jobset-name=$1" "$2"; } # NAME STATUS: of all its pods
ready='{"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}'
cause() { # JOB STATE REASON: of the only cause that `why` gives
	why "$1" -o json | python3 -c '
import json, sys
w = json.load(sys.stdin)
print(json.dumps(w, indent=1))
assert [w["state"]] + [c["reason"] for c in w["causes"]] == sys.argv[1:]' "${@:2}"
}
condition() { of "$1" ".status.conditions[?(@.type==\"$2\")].status"; }
refused() { # REGEX ARGUMENT...: of kftrainer
	kt "${@:2}" >"$scratch/refused" 2>&1 && return 1
	cat "$scratch/refused"
	grep -Eq -e "$1" "$scratch/refused"
}

# ---- dispatch, status, end -----------------------------------------------------------------------
check "a TrainJob in the queue" train first
check "... is given to the worker" wait_for 30 worker has_pods first 2
check "... of which it is MultiKueue's" is kueue.x-k8s.io/multikueue of first .spec.managedBy
check "... and in the worker ours" worker is trainer.kubeflow.org/trainjob-controller of first .spec.managedBy
check "... it is resumed" becomes false of first .spec.suspend
check "... its deadline is known there" worker is 3600 of first .spec.activeDeadlineSeconds
check "... the manager makes nothing of it" no_objects
check "... \`why\` names the cluster" wait_for 30 cause first Pending ManagedBy
check "... in words" why_says first '^first is pending: its pods run in cluster east, '
check "... logs do as well" refused 'first runs in cluster east' logs first
check "its pods run" worker report first "$ready"
check "... which the manager knows" becomes 1 of first '.status.jobsStatus[0].ready'
check "... as \`why\` says" wait_for 30 cause first Running ManagedBy
check "... and get" eval "kt get first | grep -w Running"
check "... the manager still makes nothing of it" no_objects
reported() { kn get events --field-selector involvedObject.kind=TrainJob,involvedObject.name=first -o 'jsonpath={.items[*].reportingComponent}' | grep -w "$reporter"; }
reporter=trainer-trainjob-controller
check "... and reports nothing about it" eval '! reported'
check "... unlike the worker" wait_for 30 worker reported

# ---- suspend, resume -----------------------------------------------------------------------------
check "it is suspended" kt suspend first
check "... its pods end" wait_for 30 worker has_pods first 0
check "... nothing of it is left in the worker" wait_for 30 worker nothing_of first
check "... as \`why\` says" wait_for 30 cause first Suspended WorkloadInactive
check "... and wait" kt wait first --for suspended --timeout 600s
check "it is resumed" kt resume first
check "... and has pods in the worker again" wait_for 30 worker has_pods first 2
check "... which run" worker report first "$ready"
check "... which the manager knows" becomes 1 of first '.status.jobsStatus[0].ready'
check "they end well" worker report first '{"phase": "Succeeded"}'
check "... so it is complete" becomes True condition first Complete
check "... as wait says" kt wait first --timeout 600s
check "... nothing of it is left in the worker" wait_for 30 worker nothing_of first
check "... logs say so" refused 'first ran in cluster east' logs first
check "... and \`why\`" cause first Complete Complete
check "one that fails" eval 'train second && admitted second && worker report second "{\"phase\": \"Failed\"}"'
check "... is Failed" becomes True condition second Failed
check "one that is deleted" eval 'train third && admitted third && worker report third "$ready" && kt delete third'
check "... is deleted in the worker" wait_for 30 worker nothing_of third

# ---- times to live: the manager's cluster decides (kueue#14734) ------------------------------------
brief() {
	kn get trainingruntime once -o json | python3 -c '
import json, sys
runtime = json.load(sys.stdin)
runtime["metadata"] = {"name": "brief"}
runtime["spec"]["runPolicy"] = {"ttlSecondsAfterFinished": 0}
json.dump(runtime, sys.stdout)' | kn create -f -
}
goes() { ! kn get trainjob "$1" 2>/dev/null; }
expired() { kn get events --field-selector "reason=Expired,involvedObject.name=$1" -o name | grep .; }
check "a runtime with a time to live of 0, in both" both brief
check "a job of it" eval 'runtime=brief train sixth && admitted sixth'
check "... ends well" worker report sixth '{"phase": "Succeeded"}'
check "... it goes" wait_for 60 goes sixth
check "... by the manager's controller" wait_for 30 expired sixth
check "... not by the worker's" eval '! worker expired sixth'
check "... nothing of it is left" eval 'nothing_of sixth && wait_for 30 worker nothing_of sixth'
check "a job with one of its own" eval 'train seventh ", ttlSecondsAfterFinished: 1" && admitted seventh && worker report seventh "{\"phase\": \"Succeeded\"}"' # Kueue drops it
check "... goes" wait_for 60 goes seventh
check "... and once: nothing runs again" eval 'nothing_of seventh && wait_for 30 worker nothing_of seventh'

# ---- the worker is lost --------------------------------------------------------------------------
connected() { is "$1" kc get multikueuecluster east -o 'jsonpath={.status.conditions[?(@.type=="Active")].status}'; }
check "a job that runs" eval 'train fourth && admitted fourth && worker report fourth "$ready" && becomes 1 of fourth ".status.jobsStatus[0].ready"'
check "the worker's API server ends" worker cluster stop kube-apiserver
check "... which Kueue sees" wait_for 60 connected False
check "... \`why\` names the cluster that is lost" cause fourth Running WorkerClusterLost
check "... the job stays as it was" is "false 1" of fourth '.spec.suspend} {.status.jobsStatus[0].ready'
check "the API server is back" eval 'worker cluster start kube-apiserver && wait_for 60 worker kc get --raw /readyz'
# Another kubeconfig makes Kueue connect at once, and not when its own time is up.
reconnect() {
	echo "# again" >>"$scratch/worker/manager.kubeconfig"
	kc -n kueue-system create secret generic worker "--from-file=kubeconfig=$scratch/worker/manager.kubeconfig" \
		--dry-run=client -o yaml | kc apply -f - 2>/dev/null
}
check "... its kubeconfig changes" reconnect
check "... it is connected again" wait_for 60 connected True
check "... the job has not been started again" worker is 2 eval 'kn get pods -l jobset.sigs.k8s.io/jobset-name=fourth -o name | wc -l'
check "... it ends there" worker report fourth '{"phase": "Succeeded"}'
check "... so it is complete" becomes True condition fourth Complete

# ---- and given up --------------------------------------------------------------------------------
uid_there() { worker kn get trainjob "$1" -o 'jsonpath={.metadata.uid}'; }
impatient() {
	local pid
	pid=$(kueue_pid)
	in_cluster kill "$pid"
	while [ -e "/proc/$pid" ]; do sleep 0.05; done
	echo 'multiKueue: {workerLostTimeout: 1s}' >>"$scratch/kueue/root/config.yaml"
	kueue_start
}
check "a job that runs" eval 'train fifth && admitted fifth && worker report fifth "$ready" && becomes 1 of fifth ".status.jobsStatus[0].ready"'
before=$(uid_there fifth)
check "the worker's API server ends" worker cluster stop kube-apiserver
check "... the manager's Kueue starts again, with less patience" impatient
check "... Kueue gives the job up" wait_for 60 is true of fifth .spec.suspend
check "... as \`why\` says" eval 'why fifth; why_says fifth "^fifth is suspended: (for [0-9]+s )?Kueue "'
# What watches for Kubernetes' garbage collector takes Debian's etcd long to repair.
collector() { worker cluster stop kube-controller-manager && worker cluster start kube-controller-manager; }
check "the API server is back" eval 'worker cluster start kube-apiserver && wait_for 60 worker kc get --raw /readyz'
check "... its garbage collector starts again" collector
check "... Kueue is connected again" eval 'reconnect && wait_for 60 connected True'
anew() { local uid; uid=$(uid_there fifth) && [ -n "$uid" ] && [ "$uid" != "$before" ] && worker has_pods fifth 2; }
check "... the job is started anew there" wait_for 60 anew
check "... which is deleted" kn delete trainjob fifth
check "... and nothing of it is left" wait_for 60 worker nothing_of fifth
finish
