#!/bin/bash
# Pods of `controller --local` report progress, each with a token of its own.
# before: tests/cluster/programs.sh
# shellcheck disable=SC1091,SC2016,SC2154 # what is for other shells; server.sh
. "$(dirname "$0")/server.sh"
cat >"$scratch/report.py" <<'END'
"""report.py URL CA TOKEN [PERCENT]: what an upstream callback sends; prints the answer's code."""
import json
import ssl
import sys
import urllib.error
import urllib.request
url, ca, token = sys.argv[1:4]
status = {"progressPercentage": int(sys.argv[4]), "estimatedRemainingSeconds": 90,
          "metrics": [{"name": "loss", "value": "0.5"}], "lastUpdatedTime": "2026-11-21T04:48:17Z"}
request = urllib.request.Request(url, json.dumps({"trainerStatus": status}).encode(), {
    "Authorization": "Bearer " + token, "Content-Type": "application/json"}, method="POST")
try:
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=ca)) as answer:
        print(answer.status)
except urllib.error.HTTPError as error:
    print(error.code)
END
# A job whose pods leave their tokens outside, report once, and then wait for the file end-NAME.
job() { # NAME NODES
	kubectl apply -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1}
		spec:
		  runtimeRef: {name: torch-distributed}
		  trainer:
		    numNodes: $2
		    env: [{name: MARK, value: $1}]
		    command: [sh, -c, 'cat \$KUBEFLOW_TRAINER_SERVER_TOKEN >$scratch/token-$1-\$PET_NODE_RANK;
		      cp \$KUBEFLOW_TRAINER_SERVER_CA_CERT $scratch/ca.crt; echo \$KUBEFLOW_TRAINER_SERVER_URL >$scratch/url-$1-\$PET_NODE_RANK;
		      python3 $scratch/report.py \$KUBEFLOW_TRAINER_SERVER_URL \$KUBEFLOW_TRAINER_SERVER_CA_CERT "\$(cat \$KUBEFLOW_TRAINER_SERVER_TOKEN)" 40;
		      until [ -e $scratch/end-$1 ]; do sleep 0.1; done']
	END
}
status() { kubectl get trainjob "$1" -o "jsonpath={.status.trainerStatus.$2}"; } # NAME PATH
shows() { [ "$(status "$1" "$2")" = "$3" ]; }                                       # NAME PATH VALUE
report() { python3 "$scratch/report.py" "$(cat "$scratch/url-$2-0")" "$scratch/ca.crt" "$1" "$3"; } # TOKEN NAME PERCENT
answers() { [ "$(report "${@:2}")" = "$1" ]; }                                      # CODE TOKEN NAME PERCENT
token() { cat "$scratch/token-$1"; }
finished() { kubectl wait --timeout=-1s --for=condition=Complete "trainjob/$1"; }
ended() { touch "$scratch/end-$1" && finished "$1"; }

up
check "a pod's report arrives" eval 'job one 2 && until_true shows one progressPercentage 40'
check "... with metrics and the time left" eval \
	'shows one "metrics[0].value" 0.5 && shows one estimatedRemainingSeconds 90 && shows one lastUpdatedTime 2026-11-21T04:48:17Z'
check "... in get -o wide" eval '"$kftrainer" get one -o wide | grep -q " 40%  *90s  *loss 0.5 "'
both() { [ -s "$scratch/url-one-1" ] && cat "$scratch"/token-one-* | wc -c; }
check "each pod has a token of its own" eval 'until_true both && [ "$(token one-0)" != "$(token one-1)" ]'
check "the other pod reports, too" answers 200 "$(token one-1)" one 41
check "... which is stored by trainer-status" eval \
	'shows one progressPercentage 41 && kubectl get trainjob one --show-managed-fields -o json | grep -q "\"manager\": \"trainer-status\""'
job other 1 >/dev/null
until_true shows other progressPercentage 40
check "another job's pod is refused" answers 403 "$(token other-0)" one 1
check "no token, a wrong one, a changed one, one of nobody" eval '
	answers 403 "" one 1 && answers 403 a.b.c one 1 && answers 403 "$(token one-0)x" one 1 &&
	answers 403 "$(token one-0 | cut -d. -f1,2).$(token other-0 | cut -d. -f3)" one 1'
check "the server's own token is for its API" answers 405 "$(cat "$scratch/api/token")" one 1
check "a pod's token is not" eval '! kubectl --token "$(token one-0)" --kubeconfig <(grep -v "token:" "$KUBECONFIG") get trainjobs 2>/dev/null'
check "nothing of that was stored" shows one progressPercentage 41
follows() {
	"$kftrainer" submit --follow - >"$scratch/followed" 2>&1 <<-END
		{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: told}, spec: {runtimeRef: {name: torch-distributed},
		  trainer: {command: [sh, -c, 'python3 $scratch/report.py \$KUBEFLOW_TRAINER_SERVER_URL \$KUBEFLOW_TRAINER_SERVER_CA_CERT "\$(cat \$KUBEFLOW_TRAINER_SERVER_TOKEN)" 70; until [ -e $scratch/end-told ]; do sleep 0.1; done']}}}
	END
}
sees() {
	follows &
	local follower=$!
	until_true grep -q 'running: 70 %, loss 0.5, 90s left' "$scratch/followed"
	touch "$scratch/end-told"
	wait $follower
}
check "submit --follow shows it" sees
"$kftrainer" logs -f one >/dev/null 2>"$scratch/notes" &
logs=$!
check "logs -f shows it" until_true grep -q 'running: 41 %, loss 0.5, 90s left' "$scratch/notes"
check "... and what is reported later" eval '
	answers 200 "$(token one-0)" one 42 && until_true grep -q "running: 42 %, loss 0.5, 90s left" "$scratch/notes"'
check "... each percentage once" eval '
	answers 200 "$(token one-1)" one 42 && answers 200 "$(token one-0)" one 41 && until_true eval "[ \$(grep -c running: \"$scratch/notes\") = 3 ]"'
kill $logs
wait $logs
"$kftrainer" wait one other >/dev/null 2>"$scratch/waits" &
waiter=$!
check "wait shows it" until_true grep -qx "one: running: 41 %, loss 0.5, 90s left" "$scratch/waits"
kill $waiter
wait $waiter

address=$(cat "$scratch/url-one-0")
check "a server that starts again listens where pods report" eval \
	'down KILL && up && grep -q "server: ${address%/apis/*}\$\|\"server\":\"${address%/apis/*}\"" "$KUBECONFIG"'
check "... and knows their tokens" answers 200 "$(token one-0)" one 60
check "... nobody else's" answers 403 "$(token other-0)" one 1
elsewhere=$scratch/elsewhere
check "a server on another directory does not" eval '
	"$kftrainer" controller --local --data "$elsewhere" >"$scratch/second" 2>"$scratch/second.log" & second=$!
	until_true test -s "$scratch/second"
	cp "$elsewhere/ca.crt" "$scratch/ca2.crt"
	[ "$(python3 "$scratch/report.py" "https://127.0.0.1:$(cat "$elsewhere/port")/${address#https://*/}" "$scratch/ca2.crt" "$(token one-0)" 1)" = 403 ]
	rc=$?; kill $second; wait $second; [ $rc = 0 ]'
check "jobs complete, and keep what was reported" eval 'ended one && ended other && shows one progressPercentage 60'
last=$(token other-0)
check "a deleted job's pod is refused" eval 'kubectl delete trainjob other && answers 403 "$last" other 1'
check "no token in the log" eval '! grep -F -e "$(token one-0 | cut -d. -f3)" -e "$(cat "$scratch/api/token")" -e "$(cat "$scratch/api/pods.key")" "$scratch/log"'
check "nor in what runs keep" eval '! grep -rqF "$(cat "$scratch/api/pods.key")" "$XDG_STATE_HOME"'
down TERM

export KFTRAINER_ISOLATION=none
up
check "without namespaces" eval 'job plain 2 && until_true shows plain progressPercentage 40 && ended plain'
down TERM

# ---- submit --local has a status server of its own -----------------------------------------------
unset KUBECONFIG
kubectl() { [ "$1 $2" = "apply -f" ] && exec "$kftrainer" submit --local -; } # which is all that job() asks of it
progress() { "$kftrainer" get "$1" -o json | python3 -c 'import json, sys; print(json.load(sys.stdin)["status"]["trainerStatus"]["progressPercentage"])'; }
moves() { [ "$(progress "$1")" = "$2" ]; } # NAME PERCENT
for way in none ""; do
	export KFTRAINER_ISOLATION=$way
	rm -f "$scratch"/end-here "$scratch"/token-here-*
	job here 1 >"$scratch/here" 2>&1 &
	run=$!
	check "submit --local${way:+, without namespaces}: a report arrives" until_true moves here 40
	check "... is shown" until_true grep -q "running: 40 %, loss 0.5, 90s left" "$scratch/here"
	check "... another one" eval 'answers 200 "$(token here-0)" here 55 && until_true moves here 55'
	check "... is shown, too" until_true grep -q "running: 55 %, loss 0.5, 90s left" "$scratch/here"
	"$kftrainer" logs -f here >/dev/null 2>"$scratch/notes" &
	logs=$!
	check "... logs -f shows it" until_true grep -q "running: 55 %, loss 0.5, 90s left" "$scratch/notes"
	check "... in get -o wide" eval '"$kftrainer" get here -o wide | grep -q " 55% "'
	check "... another job's pod, and nobody, are refused" eval 'answers 403 "$(token one-0)" here 1 && answers 403 "" here 1'
	check "... the job completes, and keeps it" eval 'touch "$scratch/end-here" && wait $run && moves here 55'
	check "... logs -f ends with it" wait $logs
	check "... nothing listens any more" eval '! answers 403 "" here 1'
done
finish
