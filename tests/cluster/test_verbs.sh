#!/bin/bash
# get, events, wait, suspend, resume, delete against a real API server, the controller and
# JobSet. There is no kubelet: what one would report is written into the pods' status here.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
cluster_shared
check "the controller starts" controller_up
ns=verbs-$$
kc create namespace $ns >"$scratch/namespace"
kt() { kc -n $ns "$@"; }
# run ARGUMENT...: status, and what was printed in $scratch/out and err
run() {
	in_cluster env ${config:+KUBECONFIG="$config"} "$kftrainer" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
	status=$?
}
dump() {
	echo "status $status"
	cat "$scratch/out" "$scratch/err"
	return 1
}
# says STATUS REGEX ARGUMENT...: ends so, and a line of either output is like that
says() {
	local want=$1 like=$2
	shift 2
	run "$@"
	[ "$status" = "$want" ] && cat "$scratch/out" "$scratch/err" | grep -Eq -e "$like" || dump
}
trainjob() { # NAME NODES [MORE OF SPEC]
	kt create -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1, labels: {team: ${team:-red}}}
		spec: {runtimeRef: {name: torch-distributed}, trainer: {${2:+numNodes: $2, }command: ["true"]}${3:+, $3}}
	END
}
pods() { [ "$(kt get pods -l "jobset.sigs.k8s.io/jobset-name=$1" -o name | wc -l)" = "$2" ]; }
report() { report_pods $ns "jobset.sigs.k8s.io/jobset-name=$1" "$2"; } # JOB STATUS: of all its pods
container() { # PHASE STATE
	echo "{\"phase\":\"$1\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"${3:-False}\"}],\"containerStatuses\":[{\"name\":\"node\",\"image\":\"i\",\"imageID\":\"\",\"ready\":${4:-false},\"restartCount\":0,\"state\":$2}]}"
}
running=$(container Running '{"running":{}}' True true)
succeeded=$(container Succeeded '{"terminated":{"exitCode":0,"reason":"Completed"}}')
failed=$(container Failed '{"terminated":{"exitCode":7,"reason":"Error","finishedAt":"2026-01-01T00:00:01Z"}}')
check "no jobs at all" says 0 "^No TrainJobs in namespace $ns\.$" get -n $ns
check "three TrainJobs" eval 'trainjob one 1 && team=blue trainjob two 2 && tried_once 3 | kt create -f -'
check "their pods" eval 'wait_for 60 pods one 1 && wait_for 60 pods two 2 && wait_for 60 pods once 3'

# ---- get ---------------------------------------------------------------------------------------------
check "get: a table" says 0 '^NAME +STATE +RUNTIME +NODES +AGE +DURATION$' get -n $ns
check "... a job" grep -Eq '^two +Created +torch-distributed +2 +[0-9]+s +[0-9]+s$' "$scratch/out"
check "... whose runtime has the number of nodes" grep -Eq '^once +Created +once +3 ' "$scratch/out"
check "get: sorted, all of them" test "$(awk 'NR > 1 { print $1 }' "$scratch/out" | xargs)" = "once one two"
check "get: by label" eval 'says 0 "^two " get -n $ns -l team=blue && ! grep -q ^one "$scratch/out"'
check "get: of labels that none has" says 0 'No TrainJobs with these labels' get -n $ns -l team=green
check "get -A" says 0 "^$ns +one +Created " get -A
check "get -o wide" says 0 '^NAME .*DURATION +PROGRESS +LEFT +METRICS +RESTARTS +STALLS +GOODPUT +QUEUE +REASON$' get -n $ns -o wide
check "get -o name" says 0 '^trainjob.trainer.kubeflow.org/one$' get -n $ns -o name
same() { diff <(in_cluster "$kftrainer" get one -n $ns -o json | python3 -m json.tool --sort-keys) <(kt get trainjob one -o json | python3 -m json.tool --sort-keys); }
check "get -o json: as kubectl has it" same
check "get -o yaml" says 0 '^kind: TrainJob$' get one -n $ns -o yaml
# shellcheck disable=SC2016 # it is the shell inside that reads them
gone='{ sleep 0.5; exec "$0" get -A -o yaml 2>"$1"; } | true; [ "${PIPESTATUS[0]}" = 141 ] && ! [ -s "$1" ]'
check "get: a closed pipe ends it quietly" in_cluster bash -c "$gone" "$kftrainer" "$scratch/err"
check "get: by what -o name prints" says 0 '^two +Created ' get trainjob.trainer.kubeflow.org/one trainjob/two -n $ns
check "... and kubectl" eval 'says 0 "^one " get $(kt get trainjob one -o name) -n $ns'
check "get: two by name" says 0 '^kind: List$' get one two -n $ns -o yaml
check "get: never existed" says 1 "no TrainJob tow in namespace $ns; did you mean .two.\?" get tow -n $ns
check "... in a namespace without any" says 1 'which has no TrainJobs' get x -n default
in_cluster "$kftrainer" get -w -n $ns >"$scratch/watch" 2>&1 &
watching=$!
check "get -w: existing jobs" wait_for 10 grep -q '^one ' "$scratch/watch"

# ---- wait, while things happen --------------------------------------------------------------------------
in_cluster "$kftrainer" wait one --for running --timeout 600s -n $ns >"$scratch/running" 2>&1 &
waiting=$!
check "the pod of one runs" report one "$running"
ends() { wait "$1"; [ $? = "$2" ] || { cat "$3"; return 1; }; }
check "wait --for running" ends $waiting 0 "$scratch/running"
check "... says so" grep -qx 'trainjob one is Running' "$scratch/running"
check "get -w: a line for the change" wait_for 10 grep -Eq '^one +Running ' "$scratch/watch"
check "wait: the time is up: 124" says 124 'timed out: TrainJob one is Running' wait one --timeout 300ms -n $ns
check "wait: never existed" says 1 'no TrainJob oen .*did you mean .one.' wait oen -n $ns
check "wait --for deleted: never existed" says 0 'oen is gone' wait oen --for deleted -n $ns
check "wait: for nothing that there is" says 2 'want complete, failed' wait one --for 'done' -n $ns
in_cluster "$kftrainer" wait one -n $ns >"$scratch/complete" 2>&1 &
waiting=$!
in_cluster "$kftrainer" wait one --for failed -n $ns >"$scratch/failed" 2>&1 &
waiting2=$!
sleep 1
check "one is done" report one "$succeeded"
check "wait: complete" ends $waiting 0 "$scratch/complete"
check "wait --for failed: it is complete: 1" ends $waiting2 1 "$scratch/failed"
check "wait: of one that is complete already" says 0 'one is Complete' wait one -n $ns
check "wait: by what -o name prints" says 0 '^trainjob one is Complete$' wait trainjob.trainer.kubeflow.org/one -n $ns
check "wait --for finished" says 0 'one is Complete' wait one --for finished -n $ns
check "wait --for condition" says 0 'one is Complete' wait one --for condition=Complete -n $ns
in_cluster "$kftrainer" wait once -n $ns >"$scratch/once" 2>&1 &
waiting=$!
sleep 1
check "once fails" report once "$failed"
check "wait: the exit code of what failed" ends $waiting 7 "$scratch/once"
check "... in words" grep -q "TrainJob once failed: .*see 'kftrainer why once -n $ns'" "$scratch/once"
check "wait --for failed" says 0 'once is Failed' wait once --for failed -n $ns

# ---- suspend and resume -----------------------------------------------------------------------------------
check "suspend" says 0 '^trainjob two suspended$' suspend trainjob.trainer.kubeflow.org/two -n $ns
check "... wait for it" says 0 'two is Suspended' wait two --for suspended --timeout 600s -n $ns
check "... its pods go" wait_for 60 pods two 0
check "... again" says 0 '^trainjob two already suspended$' suspend two -n $ns
check "resume" says 0 '^trainjob two resumed$' resume trainjobs/two -n $ns
check "... wait for it" says 0 'two is' wait two --for condition=Suspended=False --timeout 600s -n $ns
check "... its pods come" wait_for 60 pods two 2
check "... again" says 0 '^trainjob two not suspended$' resume two -n $ns
check "one that has ended is refused" says 1 'TrainJob one is Complete: a finished job cannot be suspended' suspend one -n $ns
check "of several the others go on" says 1 'two suspended' suspend one nobody two -n $ns
check "... and each failure is reported" grep -q 'no TrainJob nobody' "$scratch/err"
check "get of several: as kubectl" eval 'run get one nobody two -n $ns -o name; code=$status; kt get trainjob one nobody two -o name >"$scratch/theirs" 2>/dev/null; [ $code-$? = 1-1 ] && diff "$scratch/theirs" "$scratch/out"'
check "wait for several: as kubectl" eval 'says 1 "one is Complete" wait nobody one -n $ns && ! kt wait --for condition=Complete trainjob/nobody trainjob/one >"$scratch/theirs" 2>/dev/null && grep -q "one condition met" "$scratch/theirs"'
check "by label" says 0 '^trainjob two resumed$' resume -l team=blue -n $ns
check "those that have ended are left out of --all" says 0 '^trainjob two suspended$' suspend --all -n $ns
check "... one line says how many" eval 'grep -qx "skipped 2 finished jobs" "$scratch/out" && [ "$(wc -l <"$scratch/out")" = 2 ] && [ ! -s "$scratch/err" ]'
check "... nothing of them is changed" eval '[ "$(kt get trainjob one once two -o "jsonpath={.items[?(@.spec.suspend==true)].metadata.name}")" = two ]'
check "get trainjobs: as kubectl" eval 'run get trainjobs -n $ns -o name && kt get trainjobs -o name | diff - "$scratch/out"'
check "... one of them" eval 'run get trainjob one -n $ns -o name && kt get trainjob one -o name | diff - "$scratch/out"'
check "... in all namespaces" says 0 "^$ns +one " get trainjobs -A
check "... of runtimes: where they are" says 1 "no TrainJob trainingruntimes; see 'kftrainer runtime list'" get trainingruntimes -n $ns
check "delete trainjob NAME: of the name alone" eval 'run delete trainjob nobody -n $ns; [ "$status $(grep -c "^kftrainer delete: no TrainJob nobody" "$scratch/err") $(wc -l <"$scratch/err")" = "1 1 1" ]'
check "resume --all" says 0 '^trainjob two resumed$' resume --all -n $ns
check "a label that one has that has ended" says 0 '^skipped 1 finished job$' suspend -l team=red -n $ns
check "no names and no selector" says 2 'specify job names, --all or --selector$' suspend -n $ns
check "both" says 2 'only one' suspend one --all -n $ns
no_name() { # NAME: is none, and is not made another place of the URL
	local verb
	for verb in get logs events wait suspend resume delete why; do
		says 2 'invalid (TrainJob name|job) ' "$verb" "$1" -n $ns || return 1
	done
}
for name in '' . .. one/status ../pods/x one%2fstatus job/one trainjob/ trainjob/one/status trainjob/..; do
	check "'$name' is not the name of a job" no_name "$name"
done
for name in '' .. "$ns/x"; do
	check "'$name' is not the name of a namespace" says 2 'invalid namespace ' delete --all -n "$name"
done
for verb in suspend resume delete; do
	check "$verb: an empty selector is not every job" says 2 'selector is empty' $verb -l '' -n $ns
done
check "... all three are there" test "$(kt get trainjobs -o name | wc -l)" = 3

# ---- events -------------------------------------------------------------------------------------------------
check "events: a table" says 0 '^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE$' events two -n $ns
check "... of the TrainJob" grep -Eq '^[0-9]+.* Normal +JobSetCreated +trainjob/two ' "$scratch/out"
check "... of Jobs" grep -q ' job/two-node-0 ' "$scratch/out"
check "... of pods" grep -q ' pod/two-node-0-[01]-' "$scratch/out"
check "... of no other job" eval '! grep -E "(one|once)(-|$)" "$scratch/out"'
in_order() { # ages never grow from line to line
	awk 'NR > 1 { age = $1 + 0; if (split($1, part, "m") > 1) age = part[1] * 60 + part[2]; if (NR > 2 && age > last) exit 1; last = age }' "$scratch/out"
}
check "... the latest last" in_order
check "events: by what -o name prints" says 0 ' job/two-node-0 ' events trainjob.trainer.kubeflow.org/two -n $ns
check "events: of all" says 0 'trainjob/one ' events -n $ns
check "events -A" says 0 "^$ns +[0-9]" events -A
check "events: never existed" says 1 'did you mean .two.' events tow -n $ns
check "events -o json" eval 'run events two -n $ns -o json && python3 -c "import json, sys; assert json.load(sys.stdin)[\"items\"][0][\"kind\"] == \"Event\"" <"$scratch/out"'
in_cluster "$kftrainer" events two -w -n $ns >"$scratch/events" 2>&1 &
following=$!
wait_for 10 grep -q JobSetCreated "$scratch/events"
run suspend two -n $ns
check "events -w: what happens now" wait_for 20 eval '[ "$(grep -c "Suspended" "$scratch/events")" -ge 2 ]'
in_cluster kill -INT "$(pgrep -f "kftrainer events two -w -n $ns" | tail -n 1)"
check "... until Ctrl-C: 130" ends $following 130 "$scratch/events"

# ---- delete ---------------------------------------------------------------------------------------------------
wait_for 60 pods two 0
run resume two -n $ns
wait_for 60 pods two 2
check "delete" says 0 'trainjob two deleted, with its JobSet and 2 pods' delete trainjob/two --wait --timeout 600s -n $ns
check "... waits until it is gone" grep -q '^trainjob two is gone$' "$scratch/out"
check "... with all that is its own" eval '! kt get trainjob,jobset,job,pod -o name | grep -E "/two(-|$)"'
check "get -w: has seen it" grep -q '^two ' "$scratch/watch"
check "delete: never existed" says 1 'no TrainJob two in namespace' delete two -n $ns
check "... is fine" eval 'run delete two --ignore-not-found -n $ns; [ "$status" = 0 ] || dump'
{ team=green trainjob three 1; team=green trainjob four 1; } >"$scratch/created"
check "delete --finished: a job that runs stays" says 0 'no finished TrainJobs' delete --finished -l team=green -n $ns
wait_for 60 pods three 1
report three "$succeeded"
run wait three --timeout 600s -n $ns
check "... those that ended less than an hour ago, too" says 0 'no finished and old enough TrainJobs' delete --finished --older-than 1h -l team=green -n $ns
check "... one that has ended goes" says 0 '^trainjob three deleted' delete --finished -l team=green -n $ns
check "... the one that runs does not" eval '! grep -q "four deleted" "$scratch/out" && kt get trainjob four && kt delete trainjob four'
stuck() { kt patch trainjob one --type merge -p '{"metadata":{"finalizers":["example.com/stays"]}}'; }
check "one that does not go" stuck
check "delete --wait: the time is up: 124" says 124 'timed out waiting for TrainJob one to be deleted' delete one --wait --timeout 2s -n $ns
check "get: says so" says 0 '^one +Terminating ' get one -n $ns
kt patch trainjob one --type merge -p '{"metadata":{"finalizers":[]}}' >"$scratch/patched"
check "delete --all" says 0 'trainjob once deleted' delete --all -n $ns
in_cluster kill "$(pgrep -f "kftrainer get -w -n $ns" | tail -n 1)"
wait $watching
check "get -w: TERM: 143" test $? = 143

# ---- who may not, and what is not there -----------------------------------------------------------------------
cluster kubeconfig "$scratch/jane.config" jane people >"$scratch/made"
config=$scratch/jane.config
forbidden() { # VERB RESOURCE ARGUMENT...: one line says who may not do what, and how to check
	local verb=$1 what=$2
	shift 2
	says 1 "user jane may not $verb $what in namespace $ns; check with 'kubectl auth can-i $verb $what -n $ns" "$@" &&
		{ [ "$(wc -l <"$scratch/err")" = 1 ] || dump; }
}
t=trainjobs.trainer.kubeflow.org
check "get: not permitted" forbidden list $t get -n $ns
check "... of one" forbidden get $t get x -n $ns
check "wait: not permitted" forbidden get $t wait x -n $ns
check "events: not permitted" forbidden list $t events -n $ns
check "suspend: not permitted" forbidden get $t suspend x -n $ns
check "delete: not permitted" forbidden get $t delete x -n $ns
config=
kubeconfig() { # NAME SERVER CA USER
	cat >"$scratch/$1.config" <<-END
		current-context: x
		contexts: [{name: x, context: {cluster: c, user: u}}]
		clusters: [{name: c, cluster: {server: '$2', certificate-authority: '$3'}}]
		users: [{name: u, user: {$4}}]
	END
}
server=$(kc config view --raw -o 'jsonpath={.clusters[0].cluster.server}')
ca=$cluster_state/pki/ca.crt
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=other -keyout "$scratch/other.key" -out "$scratch/other.crt" -days 2 2>"$scratch/openssl"
kubeconfig expired "$server" "$ca" "token: nonsense"
kubeconfig wrongca "$server" "$scratch/other.crt" "token: nonsense"
kubeconfig nobody https://10.250.0.1:9 "$ca" "token: nonsense"
for verb in "get" "get x" "events x" "wait x" "suspend x" "resume x" "delete x" "logs x"; do
	# shellcheck disable=SC2086
	{
		check "$verb: credentials that are not accepted" says 1 'have they expired\?' $verb --kubeconfig "$scratch/expired.config"
		check "$verb: another CA" says 1 'untrusted CA' $verb --kubeconfig "$scratch/wrongca.config"
		check "$verb: no server there" says 1 '10.250.0.1:9: connection refused' $verb --kubeconfig "$scratch/nobody.config"
		check "$verb: no such context" says 2 "no context 'nowhere'" $verb --kubeconfig "$scratch/expired.config" --context nowhere
	}
done
kc delete namespace $ns --wait=false >"$scratch/deleted"
finish
