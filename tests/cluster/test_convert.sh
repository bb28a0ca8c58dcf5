#!/bin/bash
# What `kftrainer convert` makes of V1's jobs, on a real API server: it is stored, its JobSets are
# made, and variables stay in their order.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
cluster_shared
check "the controller runs" controller_up

pods() { # SPECS CONTAINER ROLE=N...
	printf '  %s:\n' "$1"
	for role in "${@:3}"; do
		printf '    %s: {replicas: %s, template: {spec: {containers: [{name: %s, image: "registry.example/x:1", command: [x], env: [{name: Z, value: z}]}]}}}\n' \
			"${role%=*}" "${role#*=}" "$2"
	done
}
v1() { # KIND VERSION NAME [LINE OF SPEC...]: the first of a document
	printf '%s\n' --- "apiVersion: kubeflow.org/$2" "kind: $1" "metadata: {name: $3}" spec:
	printf '  %s\n' "${@:4}"
}
{
	v1 PyTorchJob v1 torch 'nprocPerNode: "2"' \
		'runPolicy: {suspend: true, backoffLimit: 2, activeDeadlineSeconds: 600, ttlSecondsAfterFinished: 60}'
	pods pytorchReplicaSpecs pytorch Master=1 Worker=2
	v1 PyTorchJob v1 elastic 'elasticPolicy: {rdzvBackend: c10d, maxRestarts: 3, minReplicas: 1}'
	pods pytorchReplicaSpecs pytorch Worker=2
	v1 TFJob v1 tf 'runPolicy: {suspend: false}'
	pods tfReplicaSpecs tensorflow Chief=1 PS=1 Worker=2 Evaluator=1
	v1 TFJob v1 dynamic 'enableDynamicWorker: true'
	pods tfReplicaSpecs tensorflow PS=1 Worker=2
	v1 XGBoostJob v1 trees 'runPolicy: {cleanPodPolicy: Running}'
	pods xgbReplicaSpecs xgboost Master=1 Worker=2
	v1 PaddleJob v1 paddle 'runPolicy: {suspend: false}'
	pods paddleReplicaSpecs paddle Worker=2
	v1 PaddleJob v1 servers 'runPolicy: {suspend: false}'
	pods paddleReplicaSpecs paddle Master=1 Worker=2
	v1 JAXJob v1 jax 'runPolicy: {suspend: false}'
	pods jaxReplicaSpecs jax Worker=2
	v1 MPIJob v1 mpi 'slotsPerWorker: 2'
	pods mpiReplicaSpecs mpi Launcher=1 Worker=2
	v1 MPIJob v2beta1 mpi2 'launcherCreationPolicy: WaitForWorkersReady'
	pods mpiReplicaSpecs mpi Launcher=1 Worker=2
	v1 JAXJob v1 codes 'runPolicy: {suspend: false}'
	pods jaxReplicaSpecs jax Worker=1 | sed 's/replicas: 1/&, restartPolicy: ExitCode/'
} >"$scratch/v1.yaml"
names='torch elastic tf dynamic trees paddle servers jax mpi mpi2 codes'

converts() { # NAMESPACE [OPTION...]: strictly, as kubectl can ask for it
	local ns=$1 status=0
	shift
	kc create namespace "$ns" >/dev/null
	"$kftrainer" convert "$scratch/v1.yaml" "$@" >"$scratch/$ns.yaml" 2>"$scratch/err" || status=$?
	[ $status = 4 ] || { cat "$scratch/err"; return 1; }
	kc apply --server-side --validate=strict -n "$ns" -f "$scratch/$ns.yaml"
}
jobset() { kc get jobset "$2" -n "$1"; }
job_env() { # NAMESPACE JOBSET RJOB: "NAME=VALUE" of the container that trains
	kc get jobset "$2" -n "$1" -o json | python3 -c '
import json, sys
for rjob in json.load(sys.stdin)["spec"]["replicatedJobs"]:
    if rjob["name"] == sys.argv[1]:
        for e in rjob["template"]["spec"]["template"]["spec"]["containers"][0]["env"]:
            print(e["name"] + "=" + e.get("value", ""))' "$3"
}
in_order() { [ "$(job_env "$1" "$2" "$3" | sed -n 's/=.*//p' | grep -nE '^(KFT_TASK_INDEX|TF_CONFIG|POD_IP)$' | cut -d: -f2 | xargs)" = "$4" ] || { job_env "$1" "$2" "$3"; return 1; }; }
resumed() { kc patch trainjob tf -n ours --type merge -p "{\"spec\": {\"suspend\": $1}}" && wait_for 30 suspended "$1"; }
suspended() { [ "$(kc get jobset tf -n ours -o jsonpath='{.spec.suspend}')" = "$1" ]; }
no_jobset() { ! jobset "$@"; }

check "all kinds are stored" converts ours
for name in $names; do
	check "$name: its JobSet is made" wait_for 60 jobset ours "$name"
done
# What the API server has against a Job's template is seen only here.
has_jobs() { [ "$(kc get jobs -n ours -l "jobset.sigs.k8s.io/jobset-name=$1" -o name | wc -l)" = "$2" ]; }
while read -r name n; do
	check "$name: its Jobs are made" wait_for 60 has_jobs "$name" "$n"
done <<-ROWS
	torch 1
	elastic 1
	tf 4
	dynamic 2
	trees 1
	paddle 1
	servers 2
	jax 1
	mpi 2
	mpi2 1
	codes 1
ROWS
check "suspend" test "$(kc get jobset torch -n ours -o jsonpath='{.spec.suspend}')" = true
for job in chief ps node evaluator; do
	check "tf: the index of a $job is set before TF_CONFIG" in_order ours tf $job 'KFT_TASK_INDEX TF_CONFIG'
done
check "paddle: the index comes before POD_IP" in_order ours paddle node 'KFT_TASK_INDEX POD_IP'
check "suspended again, and changed by server-side apply" resumed true
check "... the order stays" in_order ours tf node 'KFT_TASK_INDEX TF_CONFIG'
check "... and when it is resumed" resumed false
check "... the order stays" in_order ours tf node 'KFT_TASK_INDEX TF_CONFIG'
pods_run() { [ "$(kc get pods -n ours -l jobset.sigs.k8s.io/jobset-name=tf -o name | wc -l)" = 5 ]; }
check "tf: its pods are made" wait_for 60 pods_run
pod_order() {
	kc get pods -n ours -l jobset.sigs.k8s.io/jobset-name=tf,jobset.sigs.k8s.io/replicatedjob-name=ps -o json | python3 -c '
import json, sys
names = [e["name"] for e in json.load(sys.stdin)["items"][0]["spec"]["containers"][0]["env"]]
sys.exit(not names.index("KFT_TASK_INDEX") < names.index("TF_CONFIG"))'
}
check "... with the variables in that order" pod_order

check "--target upstream: all kinds are stored" converts theirs --target upstream
check "... nothing in it is ours" eval '! grep -n "kftrainer" "$scratch/theirs.yaml"'
for name in tf servers; do
	check "... $name: its JobSet is made" wait_for 60 jobset theirs $name
done
same_env() { diff <(job_env ours "$1" "$2" | sort) <(job_env theirs "$1" "$2" | sort); }
check "... TF_CONFIG is the policy's" same_env tf ps
check "... and Paddle's variables" same_env servers ps

# Upstream has no such MPIJobs. Their pods carry our program: with the image's sshd, and with mpi-worker.
agents() { # NAMESPACE TRANSPORT
	kc create namespace "$1" >/dev/null
	for flavor in Intel MPICH; do
		v1 MPIJob v2beta1 "$(tr A-Z a-z <<<$flavor)" "mpiImplementation: $flavor" 'runLauncherAsWorker: true'
		pods mpiReplicaSpecs mpi Launcher=1 Worker=2
	done | "$kftrainer" convert - >"$scratch/agents.yaml" 2>"$scratch/err" || { cat "$scratch/err"; return 1; }
	sed -i "s|kftrainer.io/mpi: ssh|kftrainer.io/mpi: $2|" "$scratch/agents.yaml"
	kc apply --server-side --validate=strict -n "$1" -f "$scratch/agents.yaml"
}
pods_of() { kc get pods -n "$1" -l "jobset.sigs.k8s.io/jobset-name=$2,jobset.sigs.k8s.io/replicatedjob-name=$3" -o jsonpath="{.items[0].spec$4}"; }
has() { [ "$(pods_of "${@:1:4}")" = "$5" ] || { pods_of "${@:1:4}"; return 1; }; }
for transport in ssh worker; do
	check "MPI with $transport: stored" agents by-$transport $transport
	for name in intel mpich; do
		check "... $name: the launcher waits for the nodes" wait_for 60 has by-$transport $name launcher '.initContainers[*].name' 'kftrainer mpi-wait'
		check "... $name: the nodes find the launcher" wait_for 60 has by-$transport $name node '.dnsConfig.searches[0]' "$name.by-$transport.svc.cluster.local"
	done
done
check "... mpi-worker in place of sshd" has by-worker mpich node '.containers[0].command[0]' /opt/kftrainer/mpi-worker

shared() {
	kc create namespace shared >/dev/null
	sed -n '/^kind: JAXJob/,/^---/p' "$scratch/v1.yaml" | sed '1i apiVersion: kubeflow.org/v1' | sed '/^---/,$d' >"$scratch/jax.yaml"
	"$kftrainer" convert "$scratch/jax.yaml" --shared jax-distributed >"$scratch/shared.yaml"
	kc apply --server-side --validate=strict -n shared -f "$scratch/shared.yaml" && wait_for 60 jobset shared jax
}
check "--shared: a TrainJob of a built-in runtime" shared
finish
