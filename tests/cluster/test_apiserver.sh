#!/bin/bash
# This machine's API (controller --local) beside a real API server: the same requests, the
# answers compared as documents; and kubectl against it. apiserver.py has the requests, and
# the rows of what is meant to differ.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
cluster_up
check "the controller starts" controller_up
data=$scratch/local-data
export XDG_STATE_HOME=$scratch/state
local_up() { # in the cluster's namespace, where the requests are sent from
	: >"$scratch/local.out"
	in_cluster env -u KUBECONFIG bash -c 'echo $$ >"$0.pid"; exec "$@"' "$scratch/local" "$kftrainer" controller --local \
		--data "$data" >"$scratch/local.out" 2>"$scratch/local.log" &
	local_job=$!
	wait_for 20 test -s "$scratch/local.out" || { tail "$scratch/local.log"; return 1; }
}
local_kill() { # SIGNAL
	in_cluster kill -s "$1" "$(cat "$scratch/local.pid")"
	wait "$local_job" || true
}
kl() { in_cluster env KUBECONFIG="$data/kubeconfig" kubectl "$@"; }
says() { tee "$scratch/said" | grep -qe "$1" || { head -c 2000 "$scratch/said"; return 1; }; } # LIKE

check "this machine's API starts" local_up
local_kill TERM
check "... again: versions from before are gone" local_up
check "it prints where its kubeconfig is, which only its owner can read" eval \
	'[ "$(cat "$scratch/local.out")" = "$data/kubeconfig" ] && [ "$(stat -c %a "$data/kubeconfig")" = 600 ]'
compare() { in_cluster tests/cluster/apiserver.py "$cluster_state/admin.kubeconfig" "$data/kubeconfig"; }
check "answers are those of a real API server" compare
second() { ! in_cluster "$kftrainer" controller --local --data "$data" >"$scratch/second" 2>&1 && says 'in use by another server' <"$scratch/second"; }
check "a second server on the same directory is refused" second

# ---- kubectl -------------------------------------------------------------------------------------
trainjob() { # NAME NODES
	echo "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: $1}," \
		"spec: {runtimeRef: {name: torch-distributed}, trainer: {numNodes: $2, image: x, command: [sleep, '10000']}}}"
}
check "kubectl api-resources" eval 'kl api-resources | says "trainjobs .*trainer.kubeflow.org/v1alpha1 *true *TrainJob"'
check "kubectl explain" eval 'kl explain trainjob.spec.trainer.numNodes | says "How many nodes"'
check "kubectl get: the built-in runtimes" eval 'kl get clustertrainingruntimes -o name | says torch-distributed'
check "kubectl create" eval 'trainjob a 2 | kl create -f - | says created'
check "the manager makes the JobSet" wait_for 30 kl get jobset a
check "kubectl apply, client side" eval 'trainjob b 1 | kl apply -f - | says created && trainjob b 1 | kl apply -f - | says unchanged'
check "kubectl apply, server side" eval 'trainjob b 1 | kl apply --server-side --force-conflicts -f - | says serverside-applied'
check "kubectl diff finds no difference" eval 'trainjob b 1 | kl diff -f -'
immutable() { ! trainjob b 3 | kl apply -f - >"$scratch/out" 2>&1 && says 'immutable' <"$scratch/out"; }
check "a change of what is immutable is refused" immutable
check "kubectl patch, and wait" eval \
	'kl patch trainjob a --type merge -p "{\"spec\":{\"suspend\":true}}" && kl wait --for=condition=Suspended --timeout=60s trainjob/a'
check "kubectl label, annotate" eval 'kl label trainjob a x=one && kl annotate trainjob a p=q && kl get trainjob -l x=one -o name | says /a'
printf '#!/bin/sh\nsed -i "s/x: one/x: two/" "$1"\n' >"$scratch/editor"
chmod +x "$scratch/editor"
check "kubectl edit" eval 'KUBE_EDITOR=$scratch/editor kl edit trainjob a && kl get trainjob -l x=two -o name | says /a'
check "kubectl get -o wide, yaml, jsonpath" eval \
	'kl get trainjobs -o wide | says Suspended && kl get trainjob a -o yaml | says "suspend: true" && [ "$(kl get trainjob a -o "jsonpath={.spec.trainer.numNodes}")" = 2 ]'
check "kubectl describe, events" eval 'kl describe trainjob a | says Suspended && kl events --for trainjob/a | says Suspended'
watching() { # what changes meanwhile is seen
	kl get trainjobs -w -o name >"$scratch/watch" 2>&1 &
	local watch=$!
	wait_for 20 grep -q '/b' "$scratch/watch" && trainjob c 1 | kl create -f - && wait_for 20 grep -q '/c' "$scratch/watch"
	local rc=$?
	kill $watch
	wait $watch || true
	return $rc
}
check "kubectl get -w" watching
check "kubectl delete --wait takes what belongs to it" eval \
	'kl delete trainjob a --wait && ! kl get jobset a 2>/dev/null && ! kl get configmap a-runtime-snapshot 2>/dev/null'

# ---- what was acknowledged is there --------------------------------------------------------------
kept() { # nothing is under way: what runs is in tests/local/test_api.sh
	local before after
	kl delete trainjobs --all && trainjob held 1 | sed 's/spec: {/&suspend: true, /' | kl create -f - &&
		kl wait --for=condition=Suspended --timeout=60s trainjob/held &&
		wait_for 30 kl wait --for=condition=Suspended --timeout=1s jobset/held || return 1
	echo '{apiVersion: v1, kind: ConfigMap, metadata: {name: kept}, data: {v: "1"}}' | kl create -f - && before=$(kl get trainjobs,jobsets,configmaps -A -o yaml) || return 1
	local_kill KILL
	local_up && after=$(kl get trainjobs,jobsets,configmaps -A -o yaml) && diff <(echo "$before") <(echo "$after")
}
check "all is there after kill -9" kept
check "TERM ends it" local_kill TERM
finish
