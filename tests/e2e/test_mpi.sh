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
launchers() { k get pods -l "jobset.sigs.k8s.io/jobset-name=$1,jobset.sigs.k8s.io/replicatedjob-name=launcher" -o 'jsonpath={.items[*].metadata.name}' "${@:2}"; }
launcher() { # NAME: the one that has not failed, if there is one
	local names
	names=$(launchers "$1" --field-selector 'status.phase!=Failed')
	[ "$names" ] || names=$(launchers "$1")
	echo "${names%% *}"
}
# What ssh cannot reach yet is tried once more, by the launcher's Job.
retried() { sed '/name: launcher/,$s/backoffLimit: 0, //'; }
log_of() { k logs "$(launcher "$1")" -c node >"$scratch/said"; } # a connection to a kubelet may break
said() { # NAME WORDS: of all ranks, in any order; Open MPI wonders about users without a shell
	local out
	wait_for 20 log_of "$1"
	out=$(grep -v WARNING "$scratch/said" | sort | xargs)
	[ "$out" = "$2" ] || { echo "$out"; k logs "$(launcher "$1")" --all-containers | tail -n 20; return 1; }
}
first_attempt() { [ -z "$(pods "$1" '{.items[?(@.status.phase=="Failed")].metadata.name}')" ] && [ "$(pods "$1" '{.items[*].status.containerStatuses[*].restartCount}' | tr -d ' 0')" = "" ]; }

# ---- nodes that come up 30 s late ----------------------------------------------------------------------
# Nothing keeps their launchers from starting first. Looked at later on: time passes meanwhile.
late() { # NAME TRANSPORT: its nodes start 30 s after the launcher has an address
	local wait='job=${HOSTNAME%-node-*}; until getent hosts $job-launcher-0-0.$job; do sleep 1; done; sleep 30'
	wait="initContainers: [{name: late, image: $image, command: [bash, -c, '$wait']}]"
	mpi_runtime TrainingRuntime "$1" "$2" true '' '' '' '' | sed "0,/fsGroup: 1000}/s||&, $wait|"
}
(late late-ssh ssh; late late-worker worker; late late-openssh '') | k apply -f - >/dev/null 2>&1
for transport in ssh worker openssh; do
	check "$transport: nodes that are late" train late-$transport "$(ranks late-$transport 2 'echo $HOSTNAME')"
done

# On one of two nodes there is no sshd; this, too, takes its time.
mpi lost ssh false '' '' "[bash, -c, '[ \$JOB_COMPLETION_INDEX = 0 ] || exec sleep 600; exec \"\$@\"', bash, ${sshd#\[}" ''
check "ssh: a node that cannot be reached" train lost "$(ranks lost 2 true 'env: [{name: KFTRAINER_MPI_TIMEOUT, value: 60s}]')"

# openssh: the same runtime without the annotation. A launcher that is a node is left out there: until DNS
# has its name, mpirun takes it for another machine.
with_node() { # TRANSPORT: the job whose launcher is a node
	[ "$1" = openssh ] || echo "all-$1"
}
for transport in ssh worker openssh; do
	env='env: [{name: U, value: -U}]'
	change="cat"
	[ $transport != openssh ] || change=retried
	for job in $(with_node $transport) apart-$transport; do
		[ $job = apart-$transport ] && as_node=false || as_node=true
		mpi_runtime TrainingRuntime $job "${transport%openssh}" $as_node | $change | k apply -f - >/dev/null 2>&1
		check "$transport: launcher is a node: $as_node" train $job "$(ranks $job 2 'echo $HOSTNAME$U' "$env")"
	done
done
# The launcher has the TrainJob's variables in any case; nodes have them with mpi-worker.
for transport in ssh worker openssh; do
	mark=
	[ $transport != worker ] || mark=-U
	apart=apart-$transport
	for all in $(with_node $transport); do
		check "... $all completes" becomes $all Complete
		check "... each rank where the host file has it" said $all "$all-launcher-0-0-U $all-launcher-0-0-U $all-node-0-0$mark $all-node-0-0$mark"
		check "... at the first attempt" first_attempt $all
	done
	check "... $apart completes" becomes $apart Complete
	check "... each rank where the host file has it" said $apart "$apart-node-0-0$mark $apart-node-0-0$mark $apart-node-0-1$mark $apart-node-0-1$mark"
	[ $transport = openssh ] || check "... at the first attempt" first_attempt $apart
done

for transport in ssh worker; do
	late=late-$transport
	check "$transport: late nodes are waited for" becomes $late Complete
	check "... each rank where the host file has it" said $late "$late-launcher-0-0 $late-launcher-0-0 $late-node-0-0 $late-node-0-0"
	check "... at the first attempt" first_attempt $late
done
check "openssh: late nodes fail the job" becomes late-openssh Failed
check "... because ssh gave up" eval 'k logs "$(launcher late-openssh)" -c node | tee "$scratch/late" | grep "^ssh: " || { cat "$scratch/late"; false; }'

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
mpi_runtime ClusterTrainingRuntime deepspeed-distributed '' true | retried | kc apply -f - >/dev/null 2>&1
check "examples/mpi.yaml" k apply -f examples/mpi.yaml
check "... completes" becomes ranks Complete
check "... its ranks say where they are" eval 'k logs "$(launcher ranks)" -c node | grep -cE "^rank [0-3] of 4 on ranks-(launcher|node)-0-0$" | grep -x 4'
kc delete clustertrainingruntime deepspeed-distributed >/dev/null

# ---- a node that cannot be reached -------------------------------------------------------------------
check "a node without sshd: the job fails" becomes lost Failed
check "... why says so" why_says lost mpi-wait
check "... names the host and how far it came" grep -E 'lost-node-0-1[^ ]* +connect ' "$scratch/why"
check "... and no other" eval '! grep lost-node-0-0 "$scratch/why"'

# ---- a node that is lost, and a launcher that reports success ------------------------------------------
# The node's Job makes another pod: it is the launcher that has to fail.
gone() { # NAME
	k delete pod "$(pods "$1" '{.items[*].metadata.name}' | tr ' ' '\n' | grep node-0-1-)" --grace-period=0 --force --wait=false &&
		wait_for 20 k exec "$(launcher "$1")" -- touch /tmp/go
}
for transport in ssh worker; do
	gone=gone-$transport
	mpi_runtime TrainingRuntime $gone $transport false | sed '0,/backoffLimit: 0, /s///' | k apply -f - >/dev/null
	check "$transport: a job that will lose a node" train $gone "{runtimeRef: {kind: TrainingRuntime, name: $gone}, trainer: {numNodes: 2, command: [bash, -c, 'echo begun; $until_go']}}"
done
for transport in ssh worker; do
	gone=gone-$transport
	check "... $gone begins" wait_for 120 said $gone begun
	check "... a node is deleted, the launcher's command exits with 0" gone $gone
	check "... the job fails" becomes $gone Failed
	check "... why names the node" why_says $gone 'exit status 0, but 1 of 2 nodes were lost before the end'
	check "... and which" grep "$gone-node-0-1" "$scratch/why"
done
finish
