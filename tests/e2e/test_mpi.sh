#!/bin/bash
# MPI jobs with kftrainer.io/mpi on two real nodes: Open MPI finds its ranks through mpi-launch, at
# an sshd and at mpi-worker, in runtimes of the shape of upstream's for DeepSpeed.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_shared

mpi() { mpi_runtime TrainingRuntime "$@" | k apply -f - >/dev/null; }
ranks() { # RUNTIME NODES COMMAND [TRAINER]: bash runs COMMAND in each rank
	echo "{runtimeRef: {kind: TrainingRuntime, name: $1}, trainer: {numNodes: $2, numProcPerNode: 2, command: [mpirun, bash, -c, '$3']${4:+, $4}}}"
}
launcher() { k get pods -l "jobset.sigs.k8s.io/jobset-name=$1,jobset.sigs.k8s.io/replicatedjob-name=launcher" -o 'jsonpath={.items[0].metadata.name}'; }
said() { # NAME WORDS: of all ranks, in any order; Open MPI wonders about users without a shell
	local out
	out=$(k logs "$(launcher "$1")" -c node | grep -v WARNING | sort | xargs)
	[ "$out" = "$2" ] || { echo "$out"; k logs "$(launcher "$1")" --all-containers | tail -n 20; return 1; }
}
first_attempt() { [ -z "$(pods "$1" '{.items[?(@.status.phase=="Failed")].metadata.name}')" ] && [ "$(pods "$1" '{.items[*].status.containerStatuses[*].restartCount}' | tr -d ' 0')" = "" ]; }

# ---- nodes that come up 30 s late ----------------------------------------------------------------------
# Nothing keeps their launchers from starting first. Looked at later on: time passes meanwhile. That OpenSSH
# fails then, tests/mpi/test_sshd.py shows.
late() { # NAME TRANSPORT: the nodes' pods wait
	local wait="initContainers: [{name: late, image: $image, command: [sleep, '30']}]"
	mpi_runtime TrainingRuntime "$1" "$2" true '' '' '' '' | sed "0,/fsGroup: 1000}/s||&, $wait|"
}
(late late-ssh ssh; late late-worker worker) | k apply -f - >/dev/null
for transport in ssh worker; do
	check "$transport: nodes that are late" train late-$transport "$(ranks late-$transport 2 'echo $HOSTNAME')"
done

for transport in ssh worker; do
	env='env: [{name: U, value: -U}]'
	mpi all-$transport $transport true
	mpi apart-$transport $transport false
	check "$transport: a job whose launcher is a node" train all-$transport "$(ranks all-$transport 2 'echo $HOSTNAME$U' "$env")"
	check "$transport: one whose launcher is none" train apart-$transport "$(ranks apart-$transport 2 'echo $HOSTNAME$U' "$env")"
done
# The launcher has the TrainJob's variables in any case; nodes have them with mpi-worker.
for transport in ssh worker; do
	mark=
	[ $transport = ssh ] || mark=-U
	all=all-$transport apart=apart-$transport
	check "... $all completes" becomes $all Complete
	check "... each rank where the host file has it" said $all "$all-launcher-0-0-U $all-launcher-0-0-U $all-node-0-0$mark $all-node-0-0$mark"
	check "... at the first attempt" first_attempt $all
	check "... $apart completes" becomes $apart Complete
	check "... each rank where the host file has it" said $apart "$apart-node-0-0$mark $apart-node-0-0$mark $apart-node-0-1$mark $apart-node-0-1$mark"
	check "... at the first attempt" first_attempt $apart
done

for transport in ssh worker; do
	late=late-$transport
	check "$transport: late nodes are waited for" becomes $late Complete
	check "... each rank where the host file has it" said $late "$late-launcher-0-0 $late-launcher-0-0 $late-node-0-0 $late-node-0-0"
	check "... at the first attempt" first_attempt $late
done

# ---- any user, a root that cannot be written ---------------------------------------------------------
mpi strict worker false 'securityContext: {runAsUser: 123456, runAsGroup: 123456, fsGroup: 123456, runAsNonRoot: true}, volumes: [{name: tmp, emptyDir: {}}]' \
	'securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}, volumeMounts: [{name: tmp, mountPath: /tmp}]'
check "a random user, a read-only root" train strict "$(ranks strict 2 'echo $HOSTNAME $UID')"
check "... completes" becomes strict Complete
check "... as that user" said strict 'strict-node-0-0 123456 strict-node-0-0 123456 strict-node-0-1 123456 strict-node-0-1 123456'

# ---- suspended while it runs -------------------------------------------------------------------------
suspend() { k patch trainjob "$1" --type merge -p "{\"spec\": {\"suspend\": $2}}"; }
check "a job that is suspended" train held "$(ranks apart-worker 2 "$until_go; echo \$HOSTNAME")"
check "... runs" run held 3
check "... is suspended" suspend held true
check "... has no pods then" wait_for 60 eval '[ -z "$(pods held)" ]'
check "... is resumed" suspend held false
check "... runs again" run held 3
check "... its ranks are let go" go held
check "... completes" becomes held Complete

# ---- the example ---------------------------------------------------------------------------------------
# Its runtime with the image that is here: as upstream has it, without the annotation.
mpi_runtime ClusterTrainingRuntime deepspeed-distributed '' true | sed '/kftrainer.io\/mpi/d' | kc apply -f - >/dev/null 2>&1
check "examples/mpi.yaml" k apply -f examples/mpi.yaml
check "... completes" becomes ranks Complete
check "... its ranks say where they are" eval 'k logs "$(launcher ranks)" -c node | grep -cE "^rank [0-3] of 4 on ranks-(launcher|node)-0-0$" | grep -x 4'
kc delete clustertrainingruntime deepspeed-distributed >/dev/null

# ---- a node that cannot be reached -------------------------------------------------------------------
mpi lost ssh false '' '' '[bash, -c, "sleep 600"]' ''
check "nodes without sshd" train lost "$(ranks lost 2 true 'env: [{name: KFTRAINER_MPI_TIMEOUT, value: 5s}]')"
check "... the job fails" becomes lost Failed
check "... why names the host and how far it came" why_says lost mpi-wait
table() { grep -E 'lost-node-0-0' "$scratch/why" && grep -E 'lost-node-0-1' "$scratch/why"; }
check "... both of them" table
finish
