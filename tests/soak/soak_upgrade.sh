#!/bin/bash
# From an older kftrainer to this one with 50 jobs in all states, while the upgrade, the old and the new
# controller are killed at ten random moments: on this machine's API, and in a cluster.
# OLD: the older program; without it one is built from the last commit before 0.2.0's section of CHANGELOG.md
# ($OLD_COMMIT), which calls itself 0.1.0 and has a controller; 0.1.0 itself is built from its tag. SEED repeats
# the choices. ONLY=cluster: no controller --local.
# shellcheck disable=SC2016,SC2034,SC2317 # what is for other shells; called by check
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/../cluster/lib.sh"
SEED=${SEED:-$RANDOM}
RANDOM=$SEED
: "${OLD_COMMIT:=b03a0961}"
build() { # COMMIT DIRECTORY
	mkdir -p "$2" && git archive "$1" | tar -x -C "$2" && env -u MAKEFLAGS make -C "$2" -j2 "SYSROOT=$(vendor/sysroot.sh)" kftrainer
}
if [ -z "${OLD:-}" ]; then
	git rev-parse -q --verify "$OLD_COMMIT^{commit}" >/dev/null 2>&1 || {
		skip "an upgrade" "no OLD, and $OLD_COMMIT is not in this repository"
		finish
	}
	check "the older program is built" build "$OLD_COMMIT" "$scratch/old"
	OLD=$scratch/old/kftrainer
fi
new=$kftrainer
kills() { OLD=$OLD KILLS=15 JOBS=50 SEED=$SEED tests/local/test_kills.py; }
[ "${ONLY:-}" = cluster ] || check "controller --local: 50 jobs, 5 kills of the old server, 10 of the new one (SEED=$SEED)" kills

# ---- 0.1.0 itself, which had no controller: a job that it runs ------------------------------------------
first=
first_crds() { "$first" install --crds -o yaml | kc apply --server-side --force-conflicts -f -; }
first_says() { # TEXT COMMAND...
	"$new" "${@:2}" --local >"$scratch/out" 2>&1
	grep -q "$1" "$scratch/out" || { cat "$scratch/out"; return 1; }
}
if git rev-parse -q --verify 'v0.1.0^{commit}' >/dev/null 2>&1; then
	check "0.1.0 is built" build v0.1.0 "$scratch/first"
	first=$scratch/first/kftrainer
	export XDG_STATE_HOME=$scratch/first/state
	"$first" submit --local --name runs --runtime torch-distributed --nodes 2 -- sh -c 'echo said; exec sleep 1000' >"$scratch/first.log" 2>&1 </dev/null &
	runs=$!
	check "its job runs" wait_for 60 first_says Running get runs
	check "... has logs" wait_for 60 first_says 'node-1. said' logs runs
	check "... is not suspended" first_says 'started by kftrainer 0.1.0' suspend runs
	check "... is deleted, and ends" eval 'first_says "runs deleted" delete runs && { wait "$runs"; grep "interrupted" "$scratch/first.log"; }'
fi

# ---- in a cluster ----------------------------------------------------------------------------------------
unset KFT_CLUSTER
cluster_up
ns=upgrade
kn() { kc -n $ns "$@"; }
runtime() {
	cat <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: one}
		spec:
		  mlPolicy: {numNodes: 1}
		  template: {spec: {replicatedJobs: [{name: node, template: {
		    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		    spec: {backoffLimit: 0, template: {spec: {containers: [{name: node, image: i}]}}}}}]}}
	END
}
fates=(running suspended queued finished failed deleted)
fate_of() { echo "${fates[$1 % 6]}"; }
jobs_of() { for i in {0..49}; do [ "$(fate_of "$i")" != "$1" ] || echo "job-$i"; done; } # FATE
create() {
	runtime | kn create -f - || return 1
	for i in {0..49}; do
		local fate suspend=false finalizer=
		fate=$(fate_of "$i")
		[ "$fate" != suspended ] || suspend=true
		[ "$fate" != deleted ] || finalizer=', finalizers: [example.com/kept]'
		printf '%s\n' --- "apiVersion: trainer.kubeflow.org/v1alpha1" "kind: TrainJob" "metadata: {name: job-$i, labels: {fate: $fate}$finalizer}" \
			"spec: {runtimeRef: {kind: TrainingRuntime, name: one}, suspend: $suspend, trainer: {numNodes: 1}}"
	done | kn create -f -
}
has_pods() { [ "$(kn get pods -o name | wc -l)" = "$1" ]; }
running='{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"node","ready":true,"started":true,"restartCount":0,"image":"i","imageID":"","state":{"running":{}}}]}'
report() { # FATE STATUS
	local job
	for job in $(jobs_of "$1"); do report_pods "$ns" "jobset.sigs.k8s.io/jobset-name=$job" "$2" || return 1; done
}
list() { kn get "$1" -o "jsonpath={range .items[*]}$2{\"\\n\"}{end}" | sort; }
all() { # what an upgrade leaves as it is
	list trainjobs '{.metadata.name} {.metadata.uid} {.metadata.deletionTimestamp} {.status.state}' &&
		list jobsets '{.metadata.name} {.metadata.uid} {.spec.suspend}' && list configmaps '{.metadata.name} {.metadata.uid}' &&
		list pods '{.metadata.name} {.metadata.uid} {.status.phase}'
}
states() { list trainjobs '{.status.state}' | uniq -c | xargs; }
are() { [ "$(states)" = "$1" ] || { states; false; }; }

kftrainer=$OLD
[ -z "$first" ] || check "the CRDs are those of 0.1.0" first_crds
check "the old controller starts" controller_up
kc create namespace $ns >/dev/null
check "50 jobs" create
check "... those that run have pods" wait_for 120 has_pods 41
check "... that are running" report running "$running"
check "... done" report finished '{"phase":"Succeeded"}'
check "... failed" report failed '{"phase":"Failed"}'
check "... in all states" wait_for 120 are "8 Complete 16 Created 8 Failed 9 Running 9 Suspended"
kn delete trainjobs -l fate=deleted --wait=false >/dev/null
all >"$scratch/before"

# Each round applies some of the new objects, until kubectl is killed, and kills the controller.
trainer_install >"$scratch/install" 2>&1
kftrainer=$new
trainer_objects >"$scratch/trainer.yaml"
round() {
	local job
	"${inside[@]}" kubectl apply --server-side --force-conflicts -f "$scratch/trainer.yaml" >"$scratch/applied" 2>&1 &
	job=$!
	sleep "$((RANDOM % 3)).$((RANDOM % 10))"
	kill -KILL "$job" 2>/dev/null || return 0 # it was faster
	wait "$job" 2>/dev/null
	killed=$((killed + 1))
	# shellcheck disable=SC2119
	controller_up || return 1
	sleep "$((RANDOM % 2)).$((RANDOM % 10))"
	controller_down KILL
}
upgrade() {
	killed=0
	while [ "$killed" -lt 10 ]; do
		kftrainer=$new
		[ "$killed" -ge 5 ] || kftrainer=$OLD
		round || return 1
	done
}
ca() { kc get mutatingwebhookconfiguration/defaulter.trainer.kubeflow.org validatingwebhookconfiguration/validator.trainer.kubeflow.org -o 'jsonpath={.items[*].webhooks[*].clientConfig.caBundle}'; }
check "its CA is in the webhooks" eval '[ "$(ca | wc -w)" = 4 ]'
ca >"$scratch/ca"
controller_down KILL
check "the upgrade is killed ten times, with five old and five new controllers (SEED=$SEED)" upgrade
kftrainer=$new
check "... and then done" trainer_install
check "... the webhooks keep their CA" eval 'ca | diff - "$scratch/ca"'
check "the new controller starts" controller_up
sleep 5
all >"$scratch/after"
check "each job is as it was, no pod is another" diff "$scratch/before" "$scratch/after"
check "no error is logged" eval '! grep -i \"level\":\"error "$controller_log"'
check "the CRDs are the new ones" eval '"$new" install --crds -o yaml | kc diff --server-side --force-conflicts -f -'

# ---- and they go on ---------------------------------------------------------------------------------------
resume() { for job in $(jobs_of suspended); do kn patch trainjob "$job" --type merge -p '{"spec":{"suspend":false}}' || return 1; done; }
forget() { for job in $(jobs_of deleted); do kn patch trainjob "$job" --type json -p '[{"op":"remove","path":"/metadata/finalizers"}]' || return 1; done; }
check "suspended jobs are resumed" resume
check "jobs that were being deleted go" forget
check "... with their pods" eval 'wait_for 120 has_pods 42 && [ "$(kn get jobsets -o name | wc -l)" = 42 ]'
check "queued jobs run" report queued "$running"
check "... and resumed ones" report suspended "$running"
check "running jobs complete" report running '{"phase":"Succeeded"}'
check "... all of them" wait_for 120 are "17 Complete 8 Failed 17 Running"

# ---- half an upgrade ----------------------------------------------------------------------------------------
# shellcheck disable=SC2119
half() { # NAME PROGRAM
	kftrainer=$2
	controller_down && controller_up && printf '%s\n' "apiVersion: trainer.kubeflow.org/v1alpha1" "kind: TrainJob" "metadata: {name: $1}" \
		"spec: {runtimeRef: {kind: TrainingRuntime, name: one}}" | kn create -f - && wait_for 60 kn get jobset "$1" &&
		{ ! grep -i '"level":"error' "$controller_log"; }
}
check "the old controller works with the new CRDs" half forwards "$OLD"
check "the new controller works with the first CRDs" eval '{ [ -z "$first" ] || first_crds; } && half backwards "$new"'
finish
