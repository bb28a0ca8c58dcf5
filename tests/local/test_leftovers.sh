#!/bin/bash
# What a run leaves that is killed: the next command takes it away, whatever it asks for.
# shellcheck disable=SC1091,SC2016,SC2154 # what is for other shells; jobs.sh
. "$(dirname "$0")/jobs.sh"
mkdir tmp
export TMPDIR=$scratch/tmp
secret=secret-$$-$RANDOM
memory() { grep -rq "$secret" /dev/shm 2>/dev/null; }
groups() { # the control groups of this run
	find /sys/fs/cgroup -maxdepth 6 -type d -path "*kftrainer-$pid*" 2>/dev/null | grep -q .
}
gone() { ! "$@"; }

job holds 1 < <(node 'touch up; exec sleep 1000' 'volumes: [{name: v, secret: {secretName: token}}]' |
	sed "s|containers: \[{name: node,|containers: [{name: node, resources: {limits: {memory: 256Mi, cpu: 100m}}, volumeMounts: [{name: v, mountPath: $scratch/here/token}],|")
printf -- '---\napiVersion: v1\nkind: Secret\nmetadata: {name: token}\nstringData: {key: %s}\n' "$secret" >>holds.yaml

for way in "" none; do
	in="${way:+ without namespaces}"
	rm -f up
	sed -i "s|/here[a-z]*/token|/here$way/token|" holds.yaml
	env ${way:+KFTRAINER_ISOLATION=$way} "$kftrainer" submit --local holds.yaml >out 2>&1 </dev/null &
	pid=$!
	until_true test -e up
	[ ! -d /dev/shm ] || ok "a job's Secret is in memory while it runs$in" memory
	limited=$(groups && echo yes)
	[ -z "$way" ] || ok "... and linked to" test -L herenone/token
	run "$kftrainer" get
	[ ! -d /dev/shm ] || ok "... and another command leaves it alone" memory
	kill -KILL $pid
	wait $pid 2>/dev/null
	if [ "$limited" ]; then
		swept() { "$kftrainer" get >out 2>&1; gone groups; }
		ok "killed$in: its control groups are gone after the next command" until_true swept
	else
		run "$kftrainer" get
	fi
	ok "killed$in: no Secret is left in memory after it" gone memory
	[ -z "$way" ] || ok "... no link, nor the folder that was made for it" test ! -e herenone
	ok "... no folder of a pod" test -z "$(find "$XDG_STATE_HOME" -type d -name pods)"
done

cat >wait.py <<'PY'
import time
open("up", "w").close()
time.sleep(1000)
PY
rm -f up
"$kftrainer" submit --local wait.py --runtime xgboost-distributed >out 2>&1 </dev/null &
pid=$!
until_true test -e up
ok "a job's code is in TMPDIR while it runs" grep -rq 'time.sleep(1000)' tmp
kill -KILL $pid
wait $pid 2>/dev/null
run "$kftrainer" logs wait
ok "killed: the next command takes it away" test -z "$(ls -A tmp)"
finish
