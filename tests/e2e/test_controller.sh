#!/bin/bash
# The controller as a pod: what it may, and what becomes of jobs when it is lost.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_shared

managers() { kc get pods -n "$trainer_ns" -l app.kubernetes.io/component=manager "$@"; }
holder() { kc get lease trainer.kubeflow.org -n "$trainer_ns" -o 'jsonpath={.spec.holderIdentity}'; }
leader() { holder | sed 's/_.*//'; }                                             # its pod
node_of() { kc get pod "$1" -n "$trainer_ns" -o 'jsonpath={.spec.nodeName}' | tr -d n; } # I
# The one process of a manager's pod, by its number on the node.
pid_of() { # POD
	local container
	container=$(kc get pod "$1" -n "$trainer_ns" -o 'jsonpath={.status.containerStatuses[0].containerID}')
	node "$(node_of "$1")" enter ctr task ls | awk -v id="${container#containerd://}" '$1 == id { print $2 }'
}

# ---- what it may -----------------------------------------------------------------------------------
two() { [ "$(managers -o 'jsonpath={.items[*].spec.nodeName}' | tr ' ' '\n' | sort -u | xargs)" = "n1 n2" ]; }
check "a replica on each node" two
leader=$(leader)
pid=$(pid_of "$leader")
node "$(node_of "$leader")" enter cat "/proc/$pid/status" >"$scratch/status"
node "$(node_of "$leader")" enter cat "/proc/$pid/mounts" >"$scratch/mounts"
status_has() { grep -E "^$1:[[:space:]]*$2\$" "$scratch/status" || { cat "$scratch/status"; return 1; }; }
check "it is not root" status_has Uid $'65532\t65532\t65532\t65532'
check "... nor of one of root's groups" status_has Groups '(65532 )?'
check "... without capabilities" status_has CapEff 0+
check "... and no way to any" status_has CapBnd 0+
check "... nor by programs that have capabilities" status_has NoNewPrivs 1
check "... with seccomp's filter" status_has Seccomp 2
check "its root is for reading only" grep -E '^[^ ]+ / overlay ro,' "$scratch/mounts"
restricted() {
	kc label namespace "$trainer_ns" pod-security.kubernetes.io/enforce=restricted 2>"$scratch/warnings" &&
		! grep . "$scratch/warnings"
}
check "its namespace may be restricted" restricted

# ---- lost ------------------------------------------------------------------------------------------
# Of the job there is one of everything, the same as before.
uids() { k get jobsets,jobs,pods -l "jobset.sigs.k8s.io/jobset-name=$1" -o 'jsonpath={range .items[*]}{.kind} {.metadata.uid}{"\n"}{end}'; }
whole() { # NAME: JobSet is not labelled
	k get jobset "$1" -o 'jsonpath={.metadata.uid}{"\n"}'
	uids "$1"
}
undisturbed() { [ "$(wc -l <"$scratch/$1")" = 4 ] && whole "$1" | diff "$scratch/$1" -; }
made_once() { [ "$(events "$1" | grep -c ^JobSetCreated)" = 1 ] && [ "$(events "$1" | grep -c ^Completed)" = 1 ] || { events "$1"; return 1; }; }
other_leads() { [ "$(holder)" != "$was" ] && [ -n "$(holder)" ]; }
taken_over() { wait_for 60 other_leads; }
available() { kc rollout status deployment kubeflow-trainer-controller-manager -n "$trainer_ns" --timeout=600s; }

check "a job runs" train first "$(sh 2 "$until_go")"
check "... on both nodes" run first 2
whole first >"$scratch/first"
was=$(holder)
check "kill -9 of the controller that leads" node "$(node_of "$leader")" enter kill -KILL "$pid"
check "... another leads" taken_over
check "... the job goes on undisturbed" undisturbed first
check "... and to its end" go first
check "... which is seen" becomes first Complete
check "... all of it once" wait_for 30 made_once first
check "the one that was killed comes back" available

check "another job runs" train second "$(sh 2 "$until_go")"
check "... on both nodes" run second 2
whole second >"$scratch/second"
was=$(holder)
check "the leader's pod is deleted" kc delete pod "$(leader)" -n "$trainer_ns" --wait=false
check "jobs are taken meanwhile" wait_for 60 train third "$(sh 1 true)"
check "... another leads" taken_over
check "... and they complete" becomes third Complete
check "... the one that ran is undisturbed" undisturbed second
check "... and goes on" go second
check "... to its end" becomes second Complete
check "... all of it once" wait_for 30 made_once second
check "... here, too" wait_for 30 made_once third
check "there are two again, restricted" available
k delete trainjobs --all >/dev/null
kc label namespace "$trainer_ns" pod-security.kubernetes.io/enforce- >/dev/null
finish
