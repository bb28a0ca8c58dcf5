#!/bin/bash
# Directories of the server and of runs that are damaged, of a newer version, read-only, another user's,
# or hold what somebody else put there: one line, or the rest goes on.
# before: tests/cluster/programs.sh
# shellcheck disable=SC1091,SC2016,SC2154,SC2317 # what is for other shells; server.sh
. "$(dirname "$0")/server.sh"
cd "$scratch" || exit 1
data=$scratch/api log=$scratch/api/objects
# refuses TEXT [COMMAND...]: the server ends by itself with one line that has the text.
refuses() {
	local text=$1
	shift
	"$@" "$kftrainer" controller --local --data "$data" >said 2>&1
	local code=$?
	[[ $code = [12] ]] && [ "$(grep -c '^kftrainer controller: ' said)" = 1 ] && grep -q -e "$text" said || { cat said; false; }
}
names() { kubectl get configmaps -o 'jsonpath={.items[*].metadata.name}' | tr ' ' '\n' | grep ^kept; }

# ---- the server's directory ------------------------------------------------------------------------
up
kubectl create -f - <<<'{apiVersion: v1, kind: ConfigMap, metadata: {name: kept-1}, data: {a: b}}' >/dev/null
kubectl create -f - <<<'{apiVersion: v1, kind: ConfigMap, metadata: {name: kept-2}, data: {a: b}}' >/dev/null
check "another server on the same directory is refused" refuses 'in use by another server'
check "... and the first goes on" eval '[ "$(names | wc -l)" = 2 ]'
down KILL
cp -r "$data" whole
printf 'torn' >>"$log"
up
check "an incomplete record at the end is cut and reported" eval 'grep -q "removed an incomplete record" log && [ "$(names | wc -l)" = 2 ]'
down KILL
for size in 5 100 1000; do # what was acknowledged is not passed over in silence
	cp whole/objects "$log"
	printf '\377' | dd of="$log" bs=1 seek=$((20 + size)) conv=notrunc status=none
	check "a byte that is another, at $size: refused, with the file's name" refuses "$log"
done
head -c 100000 /dev/urandom >"$log"
check "random bytes: refused" refuses "$log"
sed '1s/.*/kftrainer objects 2/' whole/objects >"$log"
check "a newer version: refused" refuses "$log"
rm "$log"
mkdir -m 755 newer
sed '1s/.*/kftrainer objects 2/' whole/objects >newer/objects
before=$(find newer -printf '%p %m %s %T@\n')
run "$kftrainer" controller --local --data newer
ok "... in one line that says what to do, with exit code 1" eval 'exits 1 && [ "$(wc -l <out)" = 1 ] &&
	printed "newer/objects: written by a newer kftrainer: use that one, or set --data to another directory"'
ok "... and writes nothing" eval '[ "$(find newer -printf "%p %m %s %T@\n")" = "$before" ]'
for odd in directory link fifo text; do
	rm -rf newer/objects
	case $odd in directory) mkdir newer/objects ;; link) ln -s /dev/zero newer/objects ;; fifo) mkfifo newer/objects ;; text) echo text >newer/objects ;; esac
	run timeout 20 "$kftrainer" controller --local --data newer
	ok "a $odd in its place: one line, nothing is written" eval '[[ $status = [12] ]] && [ "$(wc -l <out)" = 1 ] && [ "$(ls newer)" = objects ]'
done
mkfifo "$log"
check "a FIFO in its place: refused, nobody waits" refuses "$log"
rm "$log"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$log"
check "a socket" refuses "$log"
rm "$log"
mkdir "$log"
check "a directory" refuses "$log"
rmdir "$log"
cp whole/objects "$log"
for file in token pods.key ca.crt ca.key port; do head -c 300 /dev/urandom >"$data/$file"; done
up
check "keys and a port that are damaged are made anew" eval '[ "$(names | wc -l)" = 2 ]'
down TERM
chmod 777 "$data"
up
check "a directory that others could write is closed to them" test "$(stat -c %a "$data")" = 700
down TERM
data=/proc/nowhere check "a directory that cannot be made" refuses 'proc/nowhere'
data=$scratch/whole/objects check "a file in place of the directory" refuses 'whole/objects'
if [ "$(id -u)" = 0 ]; then
	mkdir others
	chown 54321 others
	data=$scratch/others check "a directory of another user" refuses 'belongs to another user'
else
	skip "a directory of another user" "not root"
fi
read_only() { # COMMAND...: with this test's directory read-only
	unshare -rm sh -c 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && cd "$1" && shift && exec "$@"' - "$scratch" "$@"
}
if read_only true 2>/dev/null; then
	ro_server() { read_only "$kftrainer" controller --local --data "$data" 2>&1 | cat; }
	check "a read-only file system: one line" eval 'ro_server | grep -q "^kftrainer controller: .*Read-only file system" && [ "$(ro_server | wc -l)" = 1 ]'
else
	skip "a read-only file system" "mounts are not permitted"
fi

# ---- directories of runs ------------------------------------------------------------------------------
"$kftrainer" submit --local -q --name good --runtime torch-distributed -- true
jobs=$XDG_STATE_HOME/kftrainer/jobs/default
run_of() { mkdir -p "$jobs/$1/20260101T000000Z-001/api" "$jobs/$1/20260101T000000Z-001/logs"; echo "$jobs/$1/20260101T000000Z-001"; } # NAME
doc=$(cat "$jobs/good/latest/trainjob.json")
head -c 5000 /dev/urandom >"$(run_of random)/trainjob.json"
for n in 1 10 100 400; do head -c $n <<<"$doc" >"$(run_of "cut-$n")/trainjob.json"; done
echo "$doc" | sed 's/v1alpha1/v9/; s/"status"/"fromAnotherVersion": {"a": [1]}, "status"/' >"$(run_of newer)/trainjob.json"
echo '{"format": 2}' >"$(run_of newer)/of-a-newer-version"
mkfifo "$(run_of fifo)/trainjob.json" "$jobs/fifo/lock"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind("trainjob.json")' </dev/null && mv trainjob.json "$(run_of socket)/"
mkdir "$(run_of folder)/trainjob.json"
ln -s trainjob.json "$(run_of loop)/trainjob.json"
ln -s /dev/zero "$(run_of endless)/trainjob.json"
echo file >"$jobs/file"
parts=$(run_of parts)
echo "$doc" | sed 's/"good"/"parts"/' >"$parts/trainjob.json"
mkfifo "$parts/api/Pod.a.json" "$parts/events" "$parts/owner.json"
head -c 300 /dev/urandom >"$parts/api/JobSet.parts.json"
ln -s /dev/zero "$parts/api/Job.parts-node-0.json"
run timeout 60 "$kftrainer" get --local
ok "run directories that hold anything: get lists the others" eval 'exits 0 && printed "good +Complete"'
run timeout 60 "$kftrainer" get --local good
ok "... and gets one" printed 'good +Complete'
for name in fifo folder loop endless; do
	run timeout 60 "$kftrainer" get --local $name
	ok "... $name: exit code 1, one line" eval 'exits 1 && [ "$(wc -l <out)" = 1 ]'
done
for name in random cut-10; do
	run timeout 60 "$kftrainer" get --local $name -o yaml
	ok "... $name: a TrainJob that says which file is damaged" eval 'exits 0 && printed "reason: RecordDamaged" && printed "message: .*$name/.*/trainjob.json: [0-9]+:[0-9]+: "'
done
"$kftrainer" submit --local -q --name half --runtime torch-distributed -- echo hi >/dev/null
truncate -s 300 "$jobs/half/latest/trainjob.json"
run "$kftrainer" logs --local half
ok "a run whose TrainJob was cut off: its log" eval 'exits 0 && printed hi'
run "$kftrainer" why --local half
ok "... why names the file" printed 'its record is damaged: .*half/.*/trainjob.json: [0-9]+:[0-9]+: '
run "$kftrainer" delete --local half
ok "... it can be deleted" eval 'exits 0 && [ ! -e "$jobs/half" ]'
up
check "... the server has the others" eval 'kubectl get trainjobs -o name | grep -qx trainjob.trainer.kubeflow.org/good'
check "... and runs a job" eval 'kubectl create -f - <<<"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: fresh}, spec: {runtimeRef: {name: torch-distributed}, trainer: {command: [\"true\"]}}}" &&
	kubectl wait --timeout=-1s --for=condition=Complete trainjob/fresh'
run timeout 60 "$kftrainer" submit --local -q --name fifo --runtime torch-distributed -- true
ok "... whose names can be used again" exits 0
run timeout 60 "$kftrainer" submit --local -q --name random --runtime torch-distributed -- true
check "... and are then in the API" eval '[ "$(kubectl get trainjob random -o "jsonpath={.status.state}")" = Complete ]'
down TERM
if read_only true 2>/dev/null; then
	run read_only "$kftrainer" get --local good
	ok "read-only: get works" printed 'good +Complete'
	run read_only "$kftrainer" delete --local good
	ok "... delete says why not" eval 'exits 1 && printed "Read-only file system"'
	run read_only "$kftrainer" submit --local -q --name good --runtime torch-distributed -- true
	ok "... so does submit" eval '! exits 0 && printed "Read-only file system|not writable"'
else
	skip "read-only run directories" "mounts are not permitted"
fi

# ---- half a copy -------------------------------------------------------------------------------------
state=$XDG_STATE_HOME/kftrainer
for part in objects.json api logs latest; do
	rm -rf half
	mkdir half
	cp -a "$state" half/
	rm -rf half/kftrainer/jobs/default/good/2*/$part half/kftrainer/jobs/default/good/$part
	run env XDG_STATE_HOME="$scratch/half" timeout 60 "$kftrainer" get --local good
	ok "without $part: get" printed 'good +Complete'
	run env XDG_STATE_HOME="$scratch/half" timeout 60 "$kftrainer" logs --local good
	ok "... logs" eval '[[ $status = [01] ]] && [ "$(wc -l <out)" -le 2 ]'
	run env XDG_STATE_HOME="$scratch/half" timeout 60 "$kftrainer" delete --local good
	ok "... delete" eval 'exits 0 && [ ! -e half/kftrainer/jobs/default/good ]'
done
rm -rf half

# ---- what a newer version wrote ------------------------------------------------------------------------
state=$XDG_STATE_HOME/kftrainer
ok "the state says its format" eval '[ "$(cat "$state/format")" = 1 ]'
before=$(find "$state" -printf '%p %s\n' | sort)
for format in 2 999999999999 x ''; do
	echo "$format" >"$state/format"
	for command in "submit --local -q --name good --runtime torch-distributed -- true" "get --local good" "logs --local good" \
		"delete --local good" "get --local claims" "delete --local claims --unused" "controller --local" "controller --local --data $scratch/none"; do
		# shellcheck disable=SC2086
		run timeout 20 "$kftrainer" $command
		ok "format '$format': ${command%% *} is refused" eval 'exits 1 && [ "$(wc -l <out)" = 1 ] && printed "$state/format: "'
	done
done
echo 1 >"$state/format"
ok "... and changes nothing" eval '[ ! -e none ] && [ "$(find "$state" -printf "%p %s\n" | sort)" = "$before" ]'
rm "$state/format"
run "$kftrainer" get --local good
ok "a state of 0.1.0, without one, is read" printed 'good +Complete'
run "$kftrainer" submit --local -q --name good --runtime torch-distributed -- true
ok "... and gets one with the next job" eval 'exits 0 && [ "$(cat "$state/format")" = 1 ]'
mkfifo fifo
mv fifo "$state/format"
run timeout 20 "$kftrainer" get --local good
ok "a FIFO in its place: nobody waits" eval '! exits 0 && [ "$status" != 124 ]'
echo 1 >format
mv format "$state/format"

# ---- logs --------------------------------------------------------------------------------------------------
run "$kftrainer" submit --local -q --name removed --runtime torch-distributed --nodes 2 -- echo hi
rm "$state"/jobs/default/removed/latest/logs/removed-node-0-0-*/node.log
for follow in '' -f; do
	run "$kftrainer" logs --local removed $follow
	ok "logs $follow of a node whose log was removed: the others, and which one is gone" eval 'exits 1 && printed "node-1\] hi" && printed "its log is gone: .*/node.log: No such"'
done

# ---- other users ----------------------------------------------------------------------------------------
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$scratch"
	cp "$kftrainer" program
	mkdir home
	chown 54321 home
	as_other() { run timeout 60 setpriv --reuid 54321 --regid 54321 --clear-groups env HOME="$scratch/home" XDG_STATE_HOME="$1" "$scratch/program" "${@:2}"; }
	as_other "$XDG_STATE_HOME" get --local
	ok "another user cannot read these jobs" eval 'exits 1 && printed "Permission denied"'
	as_other "$XDG_STATE_HOME" submit --local -q --name good --runtime torch-distributed -- true
	ok "... nor add one" eval '! exits 0 && printed "Permission denied|belongs to another user"'
	as_other "$scratch/home/state" submit --local -q --name good --runtime torch-distributed -- true
	ok "a job of the same name in one's own" exits 0
	run "$kftrainer" get --local good
	ok "... is another" printed 'good +Complete'
else
	skip "two users" "not root"
fi
finish
