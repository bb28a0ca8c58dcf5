#!/bin/bash
# `submit --local --detach`: when it returns, with which code, who ends the job, and what a kill leaves.
# shellcheck disable=SC1091,SC2016,SC2154,SC2317 # what is for other shells; jobs.sh
. "$(dirname "$0")/jobs.sh"
mkdir tmp
export TMPDIR=$scratch/tmp MARK=kftrainer-detach-$$-$RANDOM
marked() { env -u MARK grep -lsz "^MARK=$MARK\$" /proc/[0-9]*/environ; } # /proc/PID/environ of all that this test started
none_left() { [ -z "$(marked)" ]; }
at_exit 'for p in $(marked); do kill -KILL "$(cut -d/ -f3 <<<"$p")" 2>/dev/null; done'
detach() { # NAME [ARGUMENT...]
	local name=$1
	shift
	run timeout -k 10 600 "$kftrainer" submit --local --detach "$@" "$name.yaml"
}
runner() { cut -d" " -f1 "$XDG_STATE_HOME/kftrainer/jobs/default/$1/lock"; } # NAME
state_is() { "$kftrainer" get "$1" -o json | grep -q "\"reason\": *\"$2\""; } # NAME REASON

# ---- it goes on ----------------------------------------------------------------------------------
job two 2 < <(node 'echo "hello of $JOB_COMPLETION_INDEX"; touch up-$JOB_COMPLETION_INDEX; until [ -e go ]; do sleep 0.05; done; exit 7')
detach two
ok "it returns while the job runs: exit code 0" exits 0
ok "... one line on stdout" lines 1 '^TrainJob default/two: running$'
ok "... and nothing that the job prints" not_printed 'hello'
pid=$(runner two)
ok "... the job has a session of its own" test "$(cut -d' ' -f6 "/proc/$pid/stat")" = "$pid"
ok "... and none of the streams" test "$(for n in 0 1 2; do readlink "/proc/$pid/fd/$n"; done | uniq)" = /dev/null
ok "... in the directory of the command" until_true test -e up-0 -a -e up-1
run "$kftrainer" get two
ok "get: it runs" printed 'two +Running'
detach two
ok "the name of a job that runs is refused: exit code 1" exits 1
ok "... in one line that says what to do" lines 1 "already running .*: see 'kftrainer logs -f --local two', or choose another name"
ok "... and nothing else" test "$(wc -l <out)" = 1
"$kftrainer" logs -f two >followed 2>&1 &
follower=$!
until_true grep -q 'hello of 1' followed
"$kftrainer" wait two >waited 2>&1 &
waiter=$!
touch go
wait $waiter
ok "wait exits with the code of the process that failed" test $? = 7
wait $follower
ok "logs -f ends with the job" grep -q 'hello of 0' followed
ok "nothing is left" until_true none_left
first=$("$kftrainer" get two -o 'json' | grep '"uid"' | head -1)
sed -i 's/exit 7/exit 0/' two.yaml
detach two
run "$kftrainer" wait two
ok "the name of a job that has ended can be submitted again" exits 0
ok "... another run takes its place" test "$("$kftrainer" get two -o json | grep '"uid"' | head -1)" != "$first"
run "$kftrainer" get two -o json
ok "... and nothing of the old one is told" not_printed '"Failed"'

# ---- what goes wrong before its pods run reaches the user ----------------------------------------
detach none
ok "no such file: exit code 2, one line" eval 'exits 2 && [ "$(wc -l <out)" = 1 ]'
job odd 1 < <(node x | sed 's/, command: \[.*\]}/}/')
detach odd
ok "what cannot run on a machine: exit code 2" exits 2
job typo 1 < <(node 'x' | sed 's/command: \[.*\]}/command: [no-such-command]}/')
detach typo
ok "no such command: its exit code" exits 127
ok "... and the report" printed 'command not found: no-such-command'
ok "... and what to do" printed 'or use its environment .--venv'
detach two --follow
ok "--follow is refused: exit code 2" exits 2
detach two --wait
ok "--wait is refused" eval "exits 2 && printed \"kftrainer wait\""
run "$kftrainer" submit --detach two.yaml
ok "--detach without --local is refused" eval 'exits 2 && printed "detach requires --local"'

# ---- until its pods run --------------------------------------------------------------------------
init='initContainers: [{name: slow, image: none, command: [bash, -c, "touch begun; until [ -e start ]; do sleep 0.05; done"]}]'
job slow 1 < <(node 'touch main; until [ -e go ]; do sleep 0.05; done' "$init")
rm -f begun start go
detach slow --timeout 300ms
ok "--timeout: exit code 124" exits 124
ok "... one line says that they do not run yet" lines 1 'timed out: the pods of TrainJob slow are not running yet'
ok "... and the job goes on" eval 'until_true test -e begun && touch start && until_true test -e main && touch go'
run "$kftrainer" wait slow
ok "... to its end" exits 0
for signal in TERM:143 HUP:129; do
	rm -f begun start go main
	"$kftrainer" submit --local --detach slow.yaml >out 2>&1 </dev/null &
	pid=$!
	until_true test -e begun
	kill "-${signal%:*}" $pid
	wait $pid
	ok "${signal%:*} before that: exit code ${signal#*:}" test $? = "${signal#*:}"
	ok "... the job has ended, too" eval 'state_is slow Interrupted && until_true none_left && [ ! -e main ]'
done
rm -f begun start go main
"$kftrainer" submit --local --detach slow.yaml >out 2>&1 </dev/null &
pid=$!
until_true test -e begun
kill -KILL $pid
wait $pid 2>/dev/null
touch start
ok "KILL of the command before that: the job goes on" until_true test -e main
run "$kftrainer" delete slow
ok "delete ends it" eval 'exits 0 && until_true none_left'
ok "... and its run is gone" test ! -e "$XDG_STATE_HOME/kftrainer/jobs/default/slow"

# ---- its code ------------------------------------------------------------------------------------
cat >code.py <<'PY'
import os, time
open("runs", "w").close()
while not os.path.exists("go"):
    time.sleep(0.05)
PY
rm -f go runs
run "$kftrainer" submit --local --detach code.py --name code --runtime xgboost-distributed
ok "a script: it is in TMPDIR while the job runs" eval 'exits 0 && until_true test -e runs && grep -rq time.sleep tmp'
touch go
run "$kftrainer" wait code
ok "... and gone after it" eval 'exits 0 && until_true eval "[ -z \"\$(ls -A tmp)\" ]"'

# ---- its volume claim -----------------------------------------------------------------------------
job claims 1 < <(node 'echo kept >ckpt/file; touch written; until [ -e go ]; do sleep 0.05; done' "volumes: [{name: v, persistentVolumeClaim: {claimName: checkpoints}}]" |
	sed "s|{name: node, image|{name: node, volumeMounts: [{name: v, mountPath: $scratch/ckpt}], image|")
rm -f go
detach claims
until_true test -e written
run "$kftrainer" delete claim/checkpoints
ok "a claim that it uses cannot be deleted" eval 'exits 1 && printed "in use by running job claims"'
touch go
run "$kftrainer" wait claims
run "$kftrainer" delete claims
ok "... and stays when its run is deleted" grep -rqx kept "$XDG_STATE_HOME/kftrainer/claims/default/checkpoints"
run "$kftrainer" delete claim/checkpoints
ok "... until somebody deletes it" eval 'exits 0 && [ ! -e "$XDG_STATE_HOME/kftrainer/claims/default/checkpoints" ]'

# ---- kill -9 of the run, at any moment -----------------------------------------------------------
groups() { find /sys/fs/cgroup -maxdepth 6 -type d -path "*kftrainer-$1-*" 2>/dev/null; } # PID
secret=secret-$$-$RANDOM
{
	job holds 2 < <(node '(setsid sleep 1001 &); exec sleep 1000' "volumes: [{name: v, secret: {secretName: token}}]" |
		sed "s|{name: node, image|{name: node, resources: {limits: {memory: 256Mi}}, volumeMounts: [{name: v, mountPath: $scratch/here/token}], image|")
	printf -- '---\napiVersion: v1\nkind: Secret\nmetadata: {name: token}\nstringData: {key: %s}\n' "$secret" >>holds.yaml
}
swept() { # the next command takes away what is no process
	"$kftrainer" get >out 2>&1
	[ -z "$(groups "$1")" ] && ! grep -rq "$secret" /dev/shm 2>/dev/null && [ -z "$(ls -A tmp)" ]
}
for way in "" none; do
	in="${way:+ without namespaces}"
	bad=
	for delay in 0 0.01 0.02 0.04 0.08 0.15 0.3; do
		env ${way:+KFTRAINER_ISOLATION=$way} "$kftrainer" submit --local --detach holds.yaml >said 2>&1 </dev/null &
		pid=$!
		until child=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null) && [ "$child" ] || ! kill -0 $pid 2>/dev/null; do :; done
		sleep $delay
		child=${child:-$(runner holds)} # it was quicker
		kill -KILL ${child% } 2>/dev/null
		wait $pid 2>/dev/null
		until_true none_left || bad="$bad process:$delay"
		until_true swept "${child% }" || bad="$bad left:$delay"
		[ ! -e "$XDG_STATE_HOME/kftrainer/jobs/default/holds/latest/trainjob.json" ] || state_is holds Interrupted || bad="$bad state:$delay"
	done
	ok "KILL at any moment$in: no process, nothing in memory, no control group; Failed, Interrupted ($bad)" test -z "$bad"
	env ${way:+KFTRAINER_ISOLATION=$way} "$kftrainer" submit --local --detach holds.yaml >out 2>&1 </dev/null
	child=$(runner holds)
	kill -KILL "$child"
	ok "KILL once its pods run$in: no process" until_true none_left
	ok "... nothing else after the next command" until_true swept "$child"
	ok "... it is Failed, Interrupted" state_is holds Interrupted
	ok "... no socket, and no directory of a pod" test -z "$(find "$XDG_STATE_HOME" -type s -o -type d -name pods)"
	ok "... nothing is mounted" test -z "$(grep -F "$scratch" /proc/self/mountinfo)"
done
run "$kftrainer" submit --local --name holds --runtime torch-distributed -- true
ok "its name can be used again" exits 0
finish
