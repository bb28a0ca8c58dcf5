#!/bin/bash
# What kftrainer 0.1.0 stored (state-0.1.0: two nodes that are done, failed, killed) is read, shown by
# the server, and deleted, also while 0.1.0 runs the job; so are the objects of a server between 0.1.0 and
# 0.2.0 (objects.txt: VERSION KEY, and the object). tests/soak/soak_upgrade.sh has the real ones.
# before: tests/cluster/programs.sh
# shellcheck disable=SC1091,SC2016,SC2034,SC2154,SC2317 # what is for other shells; server.sh
. "$(dirname "$0")/server.sh"
here=$PWD/tests/local
cd "$scratch" || exit 1
state=$XDG_STATE_HOME/kftrainer
mkdir -p "$state"
cp -r "$here/state-0.1.0/jobs" "$state/"
for job in "$state"/jobs/default/*; do # as it wrote them
	touch "$job/lock"
	ln -s "$(basename "$job"/2*)" "$job/latest"
done

run "$kftrainer" get --local
ok "get lists its jobs" eval 'exits 0 && printed "^done +Complete +plain +2 " && printed "^failed +Failed +plain +2 " && printed "^killed +Failed "'
run "$kftrainer" logs --local 'done'
ok "logs of a job that is done" eval 'exits 0 && [ "$(sort out)" = "$(printf "[node-%d] rank %d\n" 0 0 1 1)" ]'
run "$kftrainer" logs --local -f failed --rank 1
ok "... of one rank of a failed one; -f ends" eval 'exits 0 && [ "$(cat out)" = "rank 1" ]'
touch -d 2026-01-02T03:04:05Z "$state"/jobs/default/done/*/logs/*/*.log
run "$kftrainer" logs --local --timestamps 'done' --rank 0
ok "... the time of a line is that of the file, which has none for lines" eval '[ "$(cat out)" = "2026-01-02T03:04:05.000000000Z rank 0" ]'
run "$kftrainer" logs --local --since 1m 'done'
ok "... also for --since" eval 'exits 0 && not_printed rank'
run "$kftrainer" why --local failed
ok "why of a failed job says that its exit code was not stored" eval 'exits 0 && printed "kftrainer 0.1.0 did not store its exit code"'
run "$kftrainer" why --local killed
ok "... of a killed one" eval 'exits 0 && printed "was killed"'
run "$kftrainer" wait --local failed
ok "wait" exits 1
ok "nothing of it was changed" eval '[ ! -e "$state/format" ] && diff -r "$here/state-0.1.0/jobs/default/done" "$state/jobs/default/done" -x lock -x latest'

# Holds the lock as 0.1.0 does: the file has no id.
hold() { # JOB
	python3 -c 'import fcntl, struct, signal, sys
f = open(sys.argv[1], "r+")
fcntl.fcntl(f, 37, struct.pack("@hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK
print("held", flush=True)
signal.pause()' "$state/jobs/default/$1/lock" >held &
	holder=$!
	until_true test -s held
}
hold killed
run "$kftrainer" get --local
ok "a job that 0.1.0 runs is running" printed '^killed +Running '
run "$kftrainer" suspend --local killed
ok "... suspend says that it cannot be" eval '! exits 0 && printed "started by kftrainer 0.1.0, which cannot suspend it" && [ ! -e "$state"/jobs/default/killed/2*/suspended ]'
run "$kftrainer" submit --local -q --name killed --runtime torch-distributed -- true
ok "... its name is in use" eval '! exits 0 && printed "already running"'
run "$kftrainer" logs --local killed
ok "... logs" eval 'exits 0 && printed "node-1. rank 1"'
up
pods() { kubectl get pods -o 'jsonpath={range .items[*]}{.metadata.labels.jobset\.sigs\.k8s\.io/jobset-name}:{.status.phase}{"\n"}{end}' | sort | uniq -c | xargs; }
check "the server shows its jobs and pods" eval '[ "$(pods)" = "2 done:Succeeded 2 failed:Failed 2 killed:Running" ] &&
	[ "$(kubectl get trainjobs -o "jsonpath={.items[*].status.state}")" = "Complete Failed Running" ]'
check "... and logs" eval '[ "$(kubectl logs -l batch.kubernetes.io/job-completion-index=1,jobset.sigs.k8s.io/jobset-name=done)" = "rank 1" ]'
check "... deletes one that is done" eval 'kubectl delete trainjob done && [ ! -e "$state/jobs/default/done" ]'
check "... runs one of its own" eval 'kubectl create -f - <<<"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: fresh}, spec: {runtimeRef: {name: torch-distributed}, trainer: {command: [\"true\"]}}}" &&
	kubectl wait --timeout=-1s --for=condition=Complete trainjob/fresh'
down TERM
run "$kftrainer" delete --local killed
ok "delete ends the process that runs the job" eval 'exits 0 && [ ! -e "$state/jobs/default/killed" ]'
wait "$holder"
ok "... by SIGTERM" test $? = 143
run "$kftrainer" submit --local -q --name failed --runtime torch-distributed -- echo again
ok "a name of 0.1.0 can be used again" eval 'exits 0 && [ "$(cat "$state/format")" = 1 ] && [ "$("$kftrainer" logs --local failed)" = again ]'
mv "$state" moved
mkdir "$XDG_STATE_HOME/new"
mv moved "$XDG_STATE_HOME/new/kftrainer"
run env XDG_STATE_HOME="$XDG_STATE_HOME/new" "$kftrainer" logs --local failed
ok "a directory that was moved has its logs" printed again
mv "$XDG_STATE_HOME/new/kftrainer" "$state"

# ---- the objects of an older server -----------------------------------------------------------------------
export XDG_STATE_HOME=$scratch/another
mkdir -m 700 older
python3 - "$here/state-0.1.0/objects.txt" older/objects <<'PYTHON'
import struct, sys
def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
with open(sys.argv[2], "wb") as log:
    log.write(b"kftrainer objects 1\n")
    for key, text in zip(lines[::2], lines[1::2]):
        record = f"{key}\n{text}".encode()
        log.write(struct.pack("<II", len(record), crc32c(record)) + record)
PYTHON
rm -rf api
mv older api
up
jobs() { kubectl get trainjobs -o 'jsonpath={range .items[*]}{.metadata.name}={.status.state} {end}'; }
check "its jobs are as they were" eval '[ "$(jobs)" = "done=Complete held=Suspended " ]'
check "... and done stays done, without pods" eval '[ -z "$(kubectl get pods -o name)" ]'
check "the suspended one is resumed, with the runtime that it began with" eval 'kubectl delete trainingruntime plain && kubectl patch trainjob held --type merge -p "{\"spec\":{\"suspend\":false}}" &&
	kubectl wait --timeout=-1s --for=condition=Complete trainjob/held && [ "$(kubectl logs -l jobset.sigs.k8s.io/jobset-name=held)" = held ]'
check "... both are deleted, with all that they own" eval 'kubectl delete trainjob done held && until_true eval "[ -z \"\$(kubectl get jobsets,jobs,pods -o name)\" ]"'
down TERM

# ---- a state directory that was moved, with its server -----------------------------------------------------
up_here() { # STATE: the server is the one of this state directory
	export XDG_STATE_HOME=$1
	: >where
	"$kftrainer" controller --local >where 2>>log &
	server=$!
	until_true test -s where
	KUBECONFIG=$(cat where)
}
job() { # NAME COMMAND
	kubectl create -f - <<<"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: $1}, spec: {runtimeRef: {name: torch-distributed}, trainer: {command: [sh, -c, '$2']}}}"
}
two_jobs() {
	job over 'echo said' && job cut "echo run >>$scratch/runs; exec sleep 1000" &&
		kubectl wait --timeout=-1s --for=condition=Complete trainjob/over && until_true test -s runs
}
up_here "$scratch/there"
check "a job that is done, and one that runs" two_jobs
down KILL
kill -KILL "$(cut -d ' ' -f 1 there/kftrainer/jobs/default/cut/lock)"
mv there here
up_here "$scratch/here"
check "moved: what ran has failed, and does not run again" eval 'kubectl wait --timeout=-1s --for=condition=Failed trainjob/cut && [ "$(wc -l <runs)" = 1 ]'
check "... the other one has its logs" eval '[ "$(kubectl logs -l jobset.sigs.k8s.io/jobset-name=over)" = said ]'
check "... delete leaves nothing" eval 'kubectl delete trainjob over cut && until_true eval "! ls here/kftrainer/jobs/default/* 2>&1"'
down TERM

# ---- a server whose own file is replaced ------------------------------------------------------------------
cp "$kftrainer" program
kftrainer=$scratch/program up_here "$scratch/replaced"
cp program newer && mv newer program
check "a job after that" job upgraded 'echo said'
check "... is run" kubectl wait --timeout=-1s --for=condition=Complete trainjob/upgraded
mv program elsewhere
check "a job after the file was moved" job moved 'echo said'
check "... fails, and why" eval 'kubectl wait --timeout=-1s --for=condition=Failed trainjob/moved && kubectl get trainjob moved -o "jsonpath={.status.conditions[*].message}" | grep -q "start kftrainer again from where it is now"'
down TERM
finish
