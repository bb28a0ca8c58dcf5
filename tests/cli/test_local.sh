#!/bin/bash
# `submit --local`, `get` and `logs`: what they print and how they end.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
# As the built-in torch-distributed, but what has failed is not tried again.
step_runtime once '{numNodes: 1, torch: {}}' 'restartPolicy: Never' >"$scratch/once.yaml"
local_job() { run submit --local --runtime-file "$scratch/once.yaml" --runtime once "$@"; }

# ends STATUS REGEX ARGUMENT...: a job of these options ends so, and says so.
ends() {
	local want=$1 like=$2
	shift 2
	local_job "$@"
	[ "$status" = "$want" ] && cat "$scratch/out" "$scratch/err" | grep -Eq -e "$like" || dump
}

check "complete" ends 0 '^true: complete in [0-9.]+ s$' -- true
check "its output on stdout, behind whose it is" ends 0 '^\[node-0\] hello$' --name hello -- echo hello
check "... and nothing else there" test "$(cat "$scratch/out")" = '[node-0] hello'
check "the job's exit code" ends 7 'exit code 7' --name seven -- sh -c 'exit 7'
check "... the command that shows its log" ends 7 '\(kftrainer logs --local eight -n third\)' --name eight -n third -- sh -c 'exit 7'
check "... with the report: which rank first" ends 3 'node-1' --name three --nodes 2 -- \
	sh -c '[ $PET_NODE_RANK = 0 ] && exec sleep 60; echo I go; exit 3'
check "... and its last lines" grep -q 'I go' "$scratch/err"
check "... and where the logs are" grep -q "$XDG_STATE_HOME/kftrainer" "$scratch/err"
check "a signal" ends 137 'KILL' --name killed -- sh -c 'sh -c "kill -9 \$PPID"'
check "no such command: 127" ends 127 'no-such-command' -- no-such-command
printf 'not a program' >plain
check "not executable: 126" ends 126 'plain' -- ./plain
check "a folder: 126" ends 126 'tmp' --name folder -- /tmp
check "a missing module: python's own words" ends 1 "No module named 'nowhere'" --name module -- python3 -c 'import nowhere'
check "no command at all" refuses 'command' submit --local --runtime-file once.yaml --runtime once --name none
check "variables" ends 0 '^\[node-0\] 1 2$' --name vars -e A=1 -e B=2 -- sh -c 'echo $A $B'
check "a command's dollars are its own" ends 0 '^\[node-0\] [$][$] [$]\(HOME\) [0-9]+$' --name dollars -- \
	sh -c 'echo "\$\$ \$(HOME)" $$'
removed() { # OPTION...: nothing runs, as in "/"
	(mkdir gone && cd gone && rmdir ../gone && "$kftrainer" submit --local --runtime-file "$scratch/once.yaml" --runtime once "$@" \
		--name gone -- touch "$scratch/started" >"$scratch/out" 2>"$scratch/err")
	status=$?
	[ "$status" = 2 ] && [ ! -e started ] && grep -qx 'kftrainer submit: the current directory was removed.*: change to one that exists' "$scratch/err" &&
		[ ! -e "$XDG_STATE_HOME/kftrainer/jobs/default/gone" ] || dump
}
check "the current folder was removed" removed
check "... with --detach" removed --detach
check "the current folder" ends 0 "^\\[node-0\\] $scratch\$" --name folder2 -- pwd
check "--quiet: only the job's output" bash -c '[ "$("$1" submit --local -q --runtime-file once.yaml --runtime once -- echo x 2>&1)" = "[node-0] x" ]' - "$kftrainer"
check "no colours into a file" bash -c '! grep -q "$(printf "\033")" "$1"' - "$scratch/out"

check "-v: which port is mapped" ends 0 '^port 29500 is mapped to [0-9]+$' --name port -v -- true
check "without -v it is not printed" eval 'ends 0 "^port: complete" --name port -- true && ! grep -q mapped "$scratch/out" "$scratch/err"'
check "... but stored" grep -qxE 'port 29500 is mapped to [0-9]+' "$XDG_STATE_HOME/kftrainer/jobs/default/port/latest/notes.txt"
check "... and in the hint if it is in use" ends 1 '^hint: the port .* is in use.*; port 29500 is mapped to [0-9]+$' --name port -- \
	sh -c 'echo "OSError: [Errno 98] Address already in use"; exit 1'
check "... or a name does not resolve" ends 1 '^hint: a host name does not resolve.*; port 29500 is mapped to [0-9]+$' --name port -- \
	sh -c 'echo "gaierror: Name or service not known"; exit 1'
check "-v on a cluster" refuses '--verbose requires --local' submit -v --runtime torch-distributed -- true
cat >plain.yaml <<'Y'
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: its-own}
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      failurePolicy: {rules: [{name: r, action: FailJobSet, onJobFailureMessagePatterns: ["ok.*", "("]}]}
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template: {spec: {containers: [{name: node, image: none, command: [echo, x], env: [{name: MINE, value: "29500"}]}]}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: plain}
spec: {runtimeRef: {kind: TrainingRuntime, name: its-own}}
Y
check "a failure policy's pattern that cannot be compiled" refuses 'onJobFailureMessagePatterns: "\(": ' submit --local plain.yaml
sed -i 's/, "("//' plain.yaml
run submit --local plain.yaml
check "a port 29500 that is no rendezvous is not told" bash -c '[ "$1" = 0 ] && ! grep "port 29500" "$2"' - "$status" "$scratch/err"
env -u HOME -u XDG_STATE_HOME "$kftrainer" get -n no-such-namespace --local >"$scratch/out" 2>"$scratch/err"
check "without HOME: the passwd entry's" test "$?-$(grep -c 'no place' "$scratch/err")" = 0-0

check "flux: refused in one line" refuses '--local does not support Flux' submit --local --runtime flux-distributed -- true
job </dev/null >one.yaml
{ cat one.yaml; echo ---; sed 's/tiny/two/' one.yaml; } >two.yaml
check "two jobs in a file" refuses 'two.yaml: 2 TrainJobs; --local runs one' submit --local two.yaml
job >suspended.yaml <<<$'suspend: true\ntrainer: {command: ["true"]}'
check "a suspended job waits to be resumed, until --timeout" says 124 "^suspended; resume with 'kftrainer resume --local tiny'$" submit --local --timeout 1s suspended.yaml

# As in a cluster: the job exists, and this command follows it or waits; it may end before the job.
shows() { # STATE NAME
	"$kftrainer" get "$2" 2>&1 | grep -Eq "^$2 +$1 "
}
check "--follow: the job's output, and its end" ends 0 '^followed: complete in [0-9.]+ s$' --name followed --follow -- sh -c 'echo one; echo two'
check "... which is all of stdout but for the first line" test "$(cat "$scratch/out")" = 'TrainJob default/followed: created
one
two'
check "... its exit code" ends 7 'failed in .* exit code 7' --name followed --follow -- sh -c 'exit 7'
check "--wait: the end alone" ends 0 '^waited: complete in ' --name waited --wait -- echo one
check "... nothing of its output" test "$(cat "$scratch/out")" = 'TrainJob default/waited: created'
check "... its exit code" ends 7 'failed in .* exit code 7' --name waited --wait -- sh -c 'exit 7'
check "... --quiet: nothing at all" eval 'local_job --name waited --wait -q -- true && [ "$status" = 0 ] && [ ! -s "$scratch/out" ] && [ ! -s "$scratch/err" ]'
check "... -o name" eval 'ends 0 "" --name waited --wait -o name -- true && [ "$(cat "$scratch/out")" = trainjob.trainer.kubeflow.org/waited ]'
mkfifo go-on
check "--wait --timeout: 124, and the job goes on" ends 124 "timed out: TrainJob late keeps running; follow it with 'kftrainer logs -f --local late -n default'" \
	--name late --wait --timeout 1s -- sh -c "cat $scratch/go-on"
check "... under this name one runs" ends 1 'already running' --name late --wait -- true
check "... which --dry-run=server reports as well" ends 1 'already running' --name late --dry-run=server -- true
echo "done" >go-on
check "... to its end" says 0 'late is Complete' wait late
check "--suspend: it is created, suspended" ends 0 'created$' --name later --suspend -- echo resumed
check "... and waits" says 0 'later is Suspended' wait later --for suspended
check "... until it is resumed" eval 'says 0 "later resumed" resume later && says 0 "is Complete" wait later && says 0 "^resumed$" logs later'
check "--suspend --wait --timeout: it stays suspended" eval 'ends 124 "keeps running" --name never --suspend --wait --timeout 1s -- true && shows Suspended never'
check "wait --timeout of several: one limit, and the state of each" eval 'ends 0 created --name never2 --suspend -- true && says 124 "never is Suspended" wait never never2 --timeout 2s && grep -q "never2 is Suspended" "$scratch/err"'
check "... and can be deleted" says 0 'trainjob never is gone' delete --wait never never2
check "--follow: what cannot run is refused" ends 2 'does not support Flux' --runtime flux-distributed --follow -- true

check "--dry-run=server: the job is valid" ends 0 '^TrainJob default/dry: valid \(server dry run\)$' --name dry --dry-run=server -- true
check "... -o yaml: as it would be stored" eval 'ends 0 "^  uid: " --name dry --dry-run=server -o yaml -- true && grep -q "^  suspend: false" "$scratch/out"'
check "... and what cannot run here" ends 2 'does not support Flux' --runtime flux-distributed --dry-run=server -- true
check "... nothing is stored" says 1 'no TrainJob dry' get dry
check "... nor left in TMPDIR" eval '! ls -d "${TMPDIR:-/tmp}"/kftrainer-dry-run-* 2>/dev/null'
check "--dry-run=client: the objects of a cluster" eval 'ends 0 "^ *kind: JobSet$" --name dry --dry-run=client -- true && cp "$scratch/out" dry.local &&
	run submit --runtime-file once.yaml --runtime once --name dry --dry-run=client -- true && cmp "$scratch/out" dry.local'

cat >config.yaml <<'Y'
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {GREETING: good day}
---
apiVersion: v1
kind: Secret
metadata: {name: hidden}
stringData: {PASSWORD: sesame}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: config}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    command: [sh, -c, "echo $GREETING, $PASSWORD"]
    env:
    - {name: GREETING, valueFrom: {configMapKeyRef: {name: settings, key: GREETING}}}
    - {name: PASSWORD, valueFrom: {secretKeyRef: {name: hidden, key: PASSWORD}}}
Y
check "ConfigMaps and Secrets of the file" says 0 '^\[node-0\] good day, sesame$' submit --local config.yaml

"$kftrainer" get eight -n third -o yaml >again.yaml
check "what get -o yaml has printed can be submitted again" says 7 'eight: failed' submit --local --runtime-file once.yaml again.yaml
check "-o name: the TrainJob's, then its output" says 0 '^\[node-0\] out$' submit --local -o name --runtime torch-distributed --generate-name gen- -- echo out
check "... which every command takes" eval 'first=$(head -n 1 "$scratch/out"); [[ $first == trainjob.trainer.kubeflow.org/gen-????? ]] && says 0 "^out$" logs "$first" && says 0 "^trainjob .* deleted" delete "$first"'
check "-o json: the TrainJob as it is kept" eval 'run submit --local -q -o json --runtime-file once.yaml --runtime once --name shown -- true; [ "$status" = 0 ] && python3 -c "import json, sys
shown, kept = (json.load(open(p)) for p in sys.argv[1:])
assert kept.pop(\"status\") and kept[\"metadata\"].pop(\"resourceVersion\") and shown[\"metadata\"].pop(\"resourceVersion\") and shown == kept and shown[\"metadata\"][\"uid\"], shown" "$scratch/out" <("$kftrainer" get shown -o json)'
check "-o table" says 0 '^trainer.kubeflow.org/v1alpha1 +TrainJob +default +shown$' submit --local -o table --runtime-file once.yaml --runtime once --name shown -- true
check "-o name: no job that cannot run" refuses '--local does not support Flux' submit --local -o name --runtime flux-distributed -- true
check "... nor of containers that did not start" eval 'XDG_STATE_HOME=/proc/none run submit --local -o name --runtime-file once.yaml --runtime once -- true; [ "$status" != 0 ] && [ ! -s "$scratch/out" ]'
"$kftrainer" delete shown >/dev/null
check "get: a table" says 0 '^NAME +STATE +RUNTIME +NODES +AGE +DURATION$' get
check "get -A: of which namespace" says 0 '^default +hello +Complete +[^ ]+ +1 ' get -A
check "get --selector" says 0 'No TrainJobs with these labels in namespace default' get -l team=a
check "get: complete" says 0 '^hello +Complete +[^ ]+ +1 ' get hello
check "get: failed" says 0 '^three +Failed +[^ ]+ +2 ' get three
check "get -o name" says 0 '^trainjob.trainer.kubeflow.org/seven$' get -o name
check "get -o json" bash -c '"$1" get three -o json | python3 -c "import json, sys
d = json.load(sys.stdin); assert d[\"kind\"] == \"TrainJob\" and d[\"status\"][\"conditions\"][-1][\"type\"] == \"Failed\", d"' - "$kftrainer"
check "get -o yaml: all in a List" says 0 '^kind: List$' get -o yaml
check "get: another namespace" says 0 'No TrainJobs in namespace other' get -n other
check "get: never existed" says 1 "no TrainJob threee .*did you mean .three." get threee
check "... in a namespace without jobs: how to find them here" says 1 "list all with 'kftrainer get --local -A'" get threee -n nowhere
check "get: of several, those that exist, then what is missing" eval '"$kftrainer" get hello zz three zy >"$scratch/both" 2>&1; [ $? = 1 ] &&
	diff <(sed "s/  *.*//" "$scratch/both") - <<<$'"'NAME\\nhello\\nthree\\nkftrainer\\nkftrainer'"' && grep -q "no TrainJob zz in" "$scratch/both"'
check "... as a list" eval 'run get hello zz -o json; [ "$status" = 1 ] && python3 -c "import json, sys
d = json.load(sys.stdin); assert [i[\"metadata\"][\"name\"] for i in d[\"items\"]] == [\"hello\"], d" <"$scratch/out"'
check "... by name" eval 'run get -o name zz hello; [ "$status-$(cat "$scratch/out")" = 1-trainjob.trainer.kubeflow.org/hello ]'
check "... none of them: nothing on stdout" eval 'run get zz zy; [ "$status" = 1 ] && [ ! -s "$scratch/out" ] && [ "$(wc -l <"$scratch/err")" = 2 ]'
check "wait: each of several; the code of the first that failed" eval 'says 7 "hello is Complete" wait seven zz hello three && grep -q "TrainJob three failed" "$scratch/err" && grep -q "no TrainJob zz" "$scratch/err"'
check "... missing: 1" eval 'says 1 "hello is Complete" wait zz hello'
check "why: each of several" eval 'run why hello zz three; [ "$status" = 1 ] && [ "$(grep -c "^More:" "$scratch/out")" -ge 2 ] && [ "$(sed -n /^$/p "$scratch/out" | wc -l)" = 1 ]'
check "... as documents" eval 'run why hello three -o yaml; [ "$status" = 0 ] && [ "$(grep -cx -e --- "$scratch/out")" = 1 ]'
check "get claims: of several" says 1 'no claim zz' get claims zz zy
check "logs: after the job" says 0 '^hello$' logs hello
check "logs: behind whose they are" says 0 '^\[node-1\] I go$' logs three
check "logs: of a rank" says 0 '^I go$' logs three --rank 1
check "logs: of a rank that was silent" bash -c '[ -z "$("$1" logs three --rank 0)" ]' - "$kftrainer"
check "logs: of a rank that was not" says 1 'TrainJob three has no matching logs; omit --step' logs three --rank 5
check "logs: of a step" says 0 '^\[node-1\] I go$' logs three --step node
check "logs: of a container" says 0 '^\[node-1\] I go$' logs three --container node
local_job --name many -- seq 1000
check "logs --tail" bash -c '[ "$("$1" logs many --tail 2)" = "999
1000" ]' - "$kftrainer"
check "logs --tail=-1: all, as kubectl's" bash -c 'diff <("$1" logs many --tail=-1) <("$1" logs many)' - "$kftrainer"
check "logs --tail 0" bash -c '[ -z "$("$1" logs many --tail 0)" ]' - "$kftrainer"
check "logs: all lines in order" bash -c 'cmp <("$1" logs many) <(seq 1000)' - "$kftrainer"
check "logs: never existed" says 1 'no TrainJob nobody' logs nobody
for name in trainjob/three trainjobs/three trainjob.trainer.kubeflow.org/three; do
	check "get $name" says 0 '^three +Failed +[^ ]+ +2 ' get "$name"
	check "logs $name" says 0 '^\[node-1\] I go$' logs "$name"
	check "why $name" says 0 '^three' why "$name"
	check "wait $name" says 0 'trainjob three is Failed' wait --for failed "$name"
done
check "delete trainjob/NAME" says 0 '^trainjob many deleted, with its JobSet and 1 pod$' delete trainjob/many
check "delete: never existed" says 1 'no TrainJob many' delete many
check "delete --ignore-not-found" "$kftrainer" delete --ignore-not-found many
check "delete --selector" says 0 'no matching TrainJobs' delete -l team=a
check "delete --wait" says 0 '^trainjob hello is gone$' delete --wait hello
for verb in get logs why wait delete events suspend resume; do
	check "$verb: another kind" refuses "'job/three': want NAME or trainjob/NAME" $verb job/three
done
check "logs: an invalid number" refuses '--tail' logs many --tail x

# While it runs: `go` is the sign for it to go on.
mkfifo go
"$kftrainer" submit --local -q --runtime-file once.yaml --runtime once --name slow -- \
	sh -c 'echo first; read x <go; echo second; printf third' >slow.out 2>&1 &
slow=$!
until [ "$("$kftrainer" logs slow 2>/dev/null)" = first ]; do sleep 0.05; done
"$kftrainer" wait slow --for running >/dev/null
check "get: while it runs" says 0 '^slow +Running ' get slow
check "the same name again: refused" says 1 "slow .*already running .*: see 'kftrainer logs -f --local slow', or choose another name with --name" submit --local --runtime-file once.yaml --runtime once --name slow -- true
"$kftrainer" logs -f slow >follow.out 2>&1 &
follow=$!
until grep -qs first follow.out; do sleep 0.05; done
echo >go
wait $slow
check "the job is complete" test $? = 0
wait $follow
check "logs -f ends with it" test $? = 0
check "... and has every line, once" test "$(cat follow.out)" = "first
second
third"

# Watches see what other processes run.
"$kftrainer" get -w -o name >watch.out 2>&1 &
names=$!
"$kftrainer" get -w >table.out 2>&1 &
table=$!
"$kftrainer" events -w >events.out 2>&1 &
events=$!
until [ -s watch.out ] && [ -s table.out ] && [ -s events.out ]; do sleep 0.05; done
local_job --name watched -- true
until grep -q '/watched$' watch.out && grep -Eq '^watched +Complete' table.out && grep -q 'Completed .*trainjob/watched ' events.out; do sleep 0.05; done
kill -INT $names $table $events
wait $names
check "get -w: a line for each change until Ctrl-C: 130" test $? = 130
wait $table $events

# Whose a line is stands in front of it from the first on, whoever has not written yet.
"$kftrainer" submit --local -q --runtime-file once.yaml --runtime once --nodes 2 --name pair -- \
	sh -c '[ $PET_NODE_RANK = 0 ] || read x <go; echo $PET_NODE_RANK' >pair.out 2>&1 &
pair=$!
until [ -n "$("$kftrainer" logs pair 2>/dev/null)" ]; do sleep 0.05; done
check "logs: one of two has written" says 0 '^\[node-0\] 0$' logs pair
echo >go
wait $pair

# Ctrl-C: TERM for the process, what it says is still heard, 128 + the signal.
"$kftrainer" submit --local --runtime-file once.yaml --runtime once --name stopped -- \
	bash -c 'trap "echo caught; exit 0" TERM; echo up; sleep 100 & wait' >stop.out 2>&1 &
stop=$!
until grep -qs up stop.out; do sleep 0.05; done
kill -TERM $stop
wait $stop
status=$?
cp stop.out out; : >err
interrupted() { [ $status = 143 ] && grep -q 'caught' out && grep -q 'interrupted' out || dump; }
check "TERM: the job ends, 143" interrupted
check "get: says so" says 0 '^stopped +Failed ' get stopped
"$kftrainer" submit --local --runtime-file once.yaml --runtime once --name gone -- \
	sh -c 'echo $$ up; exec sleep 98765.'$$ >gone.out 2>&1 &
gone=$!
until grep -qs up gone.out; do sleep 0.05; done
kill -KILL $gone
wait $gone 2>/dev/null
no_orphan() { for _ in $(seq 1000); do pgrep -f "sleep 98765.$$" >/dev/null || return 0; sleep 0.05; done; return 1; }
check "KILL: no orphan" no_orphan
check "get: says so, too" says 0 '^gone +Failed ' get gone

# A reader that goes away does not end the job.
"$kftrainer" submit --local --runtime-file once.yaml --runtime once --name unread -- sh -c 'for i in 1 2 3 4 5; do echo $i; sleep 0.1; done; touch done-unread' \
	2>err | head -1 >/dev/null
status=${PIPESTATUS[0]}; : >out
went_on() { [ "$status" = 0 ] && [ -e done-unread ] && grep -q "the job keeps running, see 'kftrainer logs --local unread'" err || dump; }
check "closed stdout: the job goes on" went_on
check "... its log is whole" bash -c '[ "$("$1" logs unread | wc -l)" = 5 ]' - "$kftrainer"

# The state folder: no place for it, no right to it, a full disk.
no_state() { XDG_STATE_HOME=$1 run submit --local --runtime-file once.yaml --runtime once --name state -- touch started
	[ "$status" = 1 ] && [ ! -e started ] && [ "$(wc -l <"$scratch/err")" = 1 ] && grep -Eq "$2" "$scratch/err" || dump; }
check "the state folder is a file" no_state "$scratch/plain" 'Not a directory'
check "the state folder is in /proc" no_state /proc/nowhere 'No such file|Permission'
mkdir -p odd/kftrainer
: >odd/kftrainer/jobs
check "get: a state folder that cannot be read" env XDG_STATE_HOME="$PWD/odd" bash -c '! "$1" get -A 2>err && grep -q "odd/kftrainer/jobs: Not a directory" err &&
	! "$1" get 2>err && grep -q "Not a directory" err' - "$kftrainer"
mkdir small
full_state() { # in a mount namespace of its own, which an ordinary user may make, too
	unshare -rm bash -c 'mount -t tmpfs -o size=16k none small && ! head -c 100000 /dev/zero >small/fill 2>/dev/null &&
		XDG_STATE_HOME=$PWD/small "$1" submit --local --runtime-file once.yaml --runtime once --name state -- touch started' \
		- "$kftrainer" >"$scratch/out" 2>"$scratch/err"
	status=$?
	[ $status = 1 ] && [ ! -e started ] && [ "$(wc -l <"$scratch/err")" = 1 ] && grep -q 'No space left' "$scratch/err" || dump
}
no_proc() { # as in a chroot
	unshare -rm bash -c 'mount -t tmpfs none /proc && "$1" submit --local --runtime-file once.yaml --runtime once --name proc -- touch started' \
		- "$kftrainer" >"$scratch/out" 2>"$scratch/err"
	status=$?
	[ $status = 1 ] && [ ! -e started ] && [ "$(cat "$scratch/err")" = "kftrainer submit: /proc/self/exe: /proc is not mounted: mount it, as with mount -t proc proc /proc" ] || dump
}
noexec() { # REGEX of the errors in one line, OPTION...
	unshare -rm bash -c 'mount -t tmpfs -o noexec none small && printf "#!/bin/sh\n" >small/run && chmod +x small/run &&
		cd small && "$1" submit --local --runtime-file ../once.yaml --runtime once --name noexec "${@:2}" -- ./run' \
		- "$kftrainer" "${@:2}" >"$scratch/out" 2>"$scratch/err"
	status=$?
	[ $status = 126 ] && ! grep -q chmod "$scratch/err" && cat "$scratch/out" "$scratch/err" | tr '\n' ' ' | grep -Eq "$1" || dump
}
if unshare -rm true 2>/dev/null; then
	check "a full disk for the state folder" full_state
	check "/proc is not mounted" no_proc
	check "a file system mounted noexec: no chmod +x" noexec 'noexec: \./run: .*hint: start it with its interpreter'
	check "... and the supervisor says so" noexec 'kftrainer supervise: \./run: a file of a file system that is mounted noexec: start it' --supervise
else
	skip "a full disk for the state folder" "needs root, or user namespaces, for a small one"
fi
finish
