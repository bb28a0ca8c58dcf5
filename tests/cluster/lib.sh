# lib.sh - for the tests that need a cluster: tests/tap.sh, and a control plane of the test's
# own (see cluster.sh), which ends with the test.
#
#   . "$(dirname "$0")/lib.sh"
#   cluster_up                          # or: cluster_up NAME
#   check "the API server answers" kc get --raw /readyz
#   controller_up --zap-log-level 2     # ./kftrainer controller, as a process in it
#   finish
#
# cluster_shared, in the place of cluster_up, is for a test that leaves the control plane as it was: the
# next such test of this lane gets the same one (tests/shared.sh).
# KFT_CLUSTER=NAME uses the cluster of that name, which is running, and leaves it running.
# shellcheck shell=bash
# shellcheck source=tests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
kftrainer=${KFTRAINER:-$PWD/kftrainer}
cluster_ip=10.250.0.1
trainer_ns=kubeflow-system

# Skips the whole test where it cannot be run.
cluster_possible() {
	[ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null && return
	skip "$(basename "$0")" "a network namespace takes root"
	finish
}

cluster() { tests/cluster/cluster.sh "$cluster_name" "$@"; }
in_cluster() { "${inside[@]}" "$@"; }
kc() { "${kubectl[@]}" "$@"; }

# What cannot be set up is a failed test that shows why.
cluster_up() { # [NAME]
	cluster_possible
	[ -n "${1:-}" ] || lane_down
	cluster_name=${KFT_CLUSTER:-${1:-t$$}}
	at_exit cluster_end
	if ! cluster up 2>"$scratch/cluster"; then
		check "the cluster starts" eval 'cat "$scratch/cluster"; false'
		finish
	fi
	cluster_found
}

# Of $cluster_name, which is up: its state, and what comes before a command in it. That is what
# `cluster exec` does, less a shell. Tests ask kubectl very often, which starts anew each time: kubectld has started.
cluster_found() {
	local programs
	cluster_state=$(cd "${KFT_CLUSTERS:-build/clusters}/$cluster_name" && pwd)
	programs=$(cat "$cluster_state/programs")/bin
	inside=(nsenter "--net=/run/netns/kft-$cluster_name" env GOGC=400 GOMEMLIMIT=800MiB "KUBECONFIG=$cluster_state/admin.kubeconfig"
		"PATH=$programs:$PATH")
	[ "$(id -u)" = 0 ] || inside=(sudo -n "${inside[@]}")
	kubectl=("${inside[@]}" kubectl)
	[ "$(id -u)" != 0 ] || kubectl=("$programs/kubectlc" "$cluster_state/kubectl.sock" "${kubectl[@]}" --)
}

cluster_end() {
	if [ "${KFT_CLUSTER:-}" = "$cluster_name" ]; then
		controller_down
	elif cluster_stays; then
		controller_down
		cluster_tidy >/dev/null || cluster down
	else
		cluster down
	fi
}

# ---- one for several tests -----------------------------------------------------------------------
lane_cluster() { echo "${KFT_SHARED:+$KFT_SHARED-${LANE:-1}}"; }
cluster_shared() {
	shared=$(lane_cluster)
	cluster_up "$shared"
}
# After a failure, or half a test, it is not used again.
cluster_stays() { [ -n "${shared:-}" ] && [ -z "${last:-}" ] && [ -n "${finished:-}" ] && [ "$failures" = 0 ]; }
# The lane's tests that share one have run: it costs CPU even when nothing happens in it.
lane_down() {
	local cluster_name
	cluster_name=$(lane_cluster)
	[ -z "$cluster_name" ] || [ ! -d "${KFT_CLUSTERS:-build/clusters}/$cluster_name" ] || cluster down
}
# What the next test does not expect. trainer_install() brings the runtimes of a release again.
cluster_tidy() {
	local namespaces
	namespaces=$(kc get namespaces -o name | grep -vxE 'namespace/(default|kube-.*|jobset-system|kubeflow-system)')
	# shellcheck disable=SC2086
	[ -z "$namespaces" ] || kc delete --wait=false $namespaces || return 1
	kc get crd clustertrainingruntimes.trainer.kubeflow.org -o name >/dev/null 2>&1 || return 0
	kc delete clustertrainingruntimes --all && kc delete trainjobs,trainingruntimes -n default --all
}

# wait_for SECONDS COMMAND...: until it succeeds; shows what it said last when it does not. SECONDS
# is what it may take on a quiet machine; on a loaded one it gets six times that. The longer it
# takes, the less often it is tried: most commands start kubectl, which takes CPU from the others.
wait_for() {
	local deadline=$((SECONDS + 6 * $1)) pause pauses=(0.2 0.3 0.5 0.7 1)
	shift
	until "$@" >"$scratch/wait" 2>&1; do
		[ "$SECONDS" -lt "$deadline" ] || {
			cat "$scratch/wait"
			return 1
		}
		pause=${pauses[0]}
		[ ${#pauses[@]} = 1 ] || pauses=("${pauses[@]:1}")
		sleep "$pause"
	done
}

# report_pods NAMESPACE SELECTOR STATUS: what a kubelet would report of these pods, where there is
# none. Another pod that has taken the place of one meanwhile is reported on as well. A JobSet
# may delete the others as soon as one pod is reported Failed.
report_pods() {
	local reported=
	wait_for 20 all_reported "$@"
}
all_reported() {
	local pods pod
	pods=$(kc get pods -n "$1" -l "$2" -o name) && [ -n "$pods$reported" ] || return 1
	for pod in $pods; do
		kc patch -n "$1" "$pod" --subresource status -p "{\"status\":$3}" || return 1
		reported=yes
	done
}

# ---- the controller, as a process in the cluster's namespace -------------------------------------

# What `kftrainer install` makes, less the pods: a process stands for them, so each port
# of the controller's Service gets an endpoint at 10.250.0.1. $install_flags: what else
# `kftrainer install` is told.
trainer_objects() {
	# shellcheck disable=SC2086
	"$kftrainer" install -o yaml ${install_flags:-} | tests/cluster/without_pods.py "$cluster_ip" "$trainer_ns"
}

# Repeated: kubectl does not wait for the kinds that it has just made.
trainer_install() { trainer_objects >"$scratch/trainer.yaml" && wait_for 30 trainer_applied; }
trainer_applied() { kc apply --server-side --force-conflicts -f - <"$scratch/trainer.yaml"; }

# controller_up ARGUMENT...: starts ./kftrainer controller with the rights of its service
# account and waits until its webhooks answer. Settings: $controller_config (a file), or
# the defaults. Log: $controller_log. More replicas: set controller_n to 2, 3...
controller_up() {
	local n=${controller_n:-1}
	controller_log=$scratch/controller-$n.log
	[ -e "$scratch/trainer.kubeconfig" ] || {
		trainer_install >"$scratch/install" 2>&1 || {
			cat "$scratch/install"
			return 1
		}
		cluster kubeconfig "$scratch/trainer.kubeconfig" \
			"system:serviceaccount:$trainer_ns:kubeflow-trainer-controller-manager" || return 1
	}
	in_cluster env KUBECONFIG="$scratch/trainer.kubeconfig" POD_NAMESPACE=$trainer_ns KFTRAINER_STRICT=1 \
		bash -c 'echo $$ >"$0"; exec "$@"' "$scratch/controller-$n.pid" \
		"$kftrainer" controller ${controller_config:+--config "$controller_config"} "$@" \
		>"$controller_log" 2>&1 &
	wait_for 60 test -s "$scratch/controller-$n.pid" && wait_for 60 controller_ready || {
		tail -n 20 "$controller_log"
		return 1
	}
}

# The webhooks answer when the API server lets a TrainJob through to them.
controller_ready() {
	kc create --dry-run=server -f - <<-END 2>&1 | grep -E 'not found|denied|created'
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: probe, namespace: default}
		spec: {runtimeRef: {name: there-is-no-such-runtime}}
	END
}

# Signals take in_cluster: where this is not root, the controller is.
controller_pid() { cat "$scratch/controller-${controller_n:-1}.pid"; }

# shellcheck disable=SC2120 # tests pass a signal
controller_down() { # [SIGNAL]: of all replicas that run; waits for their end
	local file pid
	for file in "$scratch"/controller-*.pid; do
		[ -e "$file" ] || continue
		pid=$(cat "$file")
		rm "$file"
		in_cluster kill -s "${1:-TERM}" "$pid" 2>/dev/null || continue
		while [ -e "/proc/$pid" ]; do sleep 0.05; done
	done
}

# YAML of the TrainJob `once` of so many nodes, and of its runtime, whose Jobs do not try again.
# With $gate, an init container, its pods run $what_runs.
tried_once() { # NODES
	cat <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: once, labels: {trainer.kubeflow.org/framework: plain}}
		spec:
		  mlPolicy: {numNodes: $1}
		  template: {spec: {replicatedJobs: [{name: node, template: {
		    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		    spec: {backoffLimit: 0, template: {spec: {${gate:+initContainers: [$gate], }
		      containers: [{name: node, image: i${gate:+, $what_runs}}]}}}}}]}}
		---
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: once}
		spec: {runtimeRef: {kind: TrainingRuntime, name: once}}
	END
}

# What `why` says of a job in $ns, in $scratch/why: its first sentence, and the command that shows more.
why() { in_cluster "$kftrainer" why -n $ns "$@"; }
why_says() { # JOB REGEX [COMMAND]
	in_cluster "$kftrainer" why -n $ns "$1" >"$scratch/why" || return 1
	cat "$scratch/why"
	head -n 1 "$scratch/why" | sed 's/ Also: .*//' | grep -qE -e "$2" &&
		{ [ -z "${3:-}" ] || grep -qE -e "^More: $3" "$scratch/why"; }
}

# shellcheck source=tests/cluster/on_this_machine.sh
[ -z "${KFT_ON_THIS_MACHINE:-}" ] || . "$(dirname "${BASH_SOURCE[0]}")/on_this_machine.sh"
