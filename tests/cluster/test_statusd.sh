#!/bin/bash
# Who may report progress, and what comes of it: with tokens of the API server's own.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
cluster_shared
check "the controller serves reports of progress" controller_up --feature-gates TrainJobStatus=true

ns=progress-$$
other=elsewhere-$$
service=kubeflow-trainer-controller-manager.$trainer_ns.svc
url=https://$service:10443/apis/trainer.kubeflow.org/v1alpha1/namespaces
audience() { echo "trainer.kubeflow.org/v1alpha1/namespaces/$1/trainjobs/$2/status"; } # NS TRAINJOB

# trainjob NS NAME: and waits for its pod, of which it prints name and uid
trainjob() {
	kc apply -f - >/dev/null <<-YAML
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $2, namespace: $1}
		spec: {runtimeRef: {name: torch-distributed}, trainer: {numNodes: 1}}
	YAML
	wait_for 60 eval "pod_of $1 $2 | grep ."
	pod_of "$1" "$2"
}
pod_of() {
	kc get pods -n "$1" -l "jobset.sigs.k8s.io/jobset-name=$2" \
		-o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}{"\n"}{end}'
}
token() { # NS POD UID AUDIENCE
	kc create token default -n "$1" --bound-object-kind Pod --bound-object-name "$2" \
		--bound-object-uid "$3" --audience "$4"
}
# post TOKEN NS TRAINJOB BODY [CURL'S OPTIONS]: the answer in $scratch/said, the code is printed
post() {
	in_cluster curl -s --max-time 30 --cacert "$scratch/ca.crt" --connect-to "$service::$cluster_ip:" \
		-o "$scratch/said" -w '%{http_code}\n' ${1:+-H "Authorization: Bearer $1"} \
		-H 'Content-Type: application/json' -d "$4" "${@:5}" "$url/$2/trainjobs/$3/status"
}
answers() { # CODE LIKE, and post's arguments
	local code
	code=$(post "${@:3}")
	[ "$code" = "$1" ] && grep -q -e "$2" "$scratch/said" || {
		echo "$code $(cat "$scratch/said")"
		return 1
	}
}
forbidden() { answers 403 '"message":"Forbidden","reason":"Forbidden","code":403' "$@"; }
stored() { # LIKE
	kc get trainjob one -n $ns -o 'jsonpath={.status.trainerStatus}' | tee /dev/stderr | grep -qx "$1"
}
owner_of() { kc get trainjob one -n $ns --show-managed-fields -o json | grep -q '"manager": "trainer-status"'; }

kc create namespace $ns >/dev/null
kc create namespace $other >/dev/null
wait_for 30 kc get serviceaccount default -n $ns
wait_for 30 kc get serviceaccount default -n $other
read -r pod uid < <(trainjob $ns one)
read -r pod2 uid2 < <(trainjob $ns two)
read -r pod3 uid3 < <(trainjob $other one)
good=$(token $ns "$pod" "$uid" "$(audience $ns one)")

ca() { kc get configmap one-tls-config -n $ns -o 'jsonpath={.data.ca\.crt}' >"$scratch/ca.crt" && [ -s "$scratch/ca.crt" ]; }
address() {
	kc get pod "$pod" -n $ns -o 'jsonpath={.spec.containers[0].env[?(@.name=="KUBEFLOW_TRAINER_SERVER_URL")].value}' |
		grep -qx "$url/$ns/trainjobs/one/status"
}
projected() {
	kc get pod "$pod" -n $ns -o 'jsonpath={.spec.volumes[*].projected.sources[*].serviceAccountToken.audience}' |
		grep -qF "$(audience $ns one)"
}
check "the job's namespace has the CA that the server's certificate is of" ca
check "the job's pod knows where to report" address
check "and has a token for it" projected

full='{"trainerStatus": {"progressPercentage": 40, "estimatedRemainingSeconds": 60,
  "metrics": [{"name": "loss", "value": "0.5"}], "lastUpdatedTime": "2026-11-21T04:48:17.123456+00:00"}}'
echo='^{"trainerStatus":{"progressPercentage":40,"estimatedRemainingSeconds":60,"metrics":\[{"name":"loss","value":"0.5"}\],"lastUpdatedTime":"2026-11-21T04:48:17Z"}}$'
check "a report of the job's pod is taken and echoed" answers 200 "$echo" "$good" $ns one "$full"
check "and stored" stored '{"estimatedRemainingSeconds":60,"lastUpdatedTime":"2026-11-21T04:48:17Z","metrics":\[{"name":"loss","value":"0.5"}\],"progressPercentage":40}'
check "by the manager trainer-status" owner_of
check "the next one replaces it" answers 200 . "$good" $ns one \
	'{"trainerStatus": {"progressPercentage": 41, "lastUpdatedTime": "2026-11-21T04:50:00Z"}, "more": 1}'
check "as a whole" stored '{"lastUpdatedTime":"2026-11-21T04:50:00Z","progressPercentage":41}'
check "an empty report changes nothing" answers 200 '^{}$' "$good" $ns one '{}'
suspended() { kc patch trainjob one -n $ns --type merge -p '{"metadata": {"labels": {"a": "b"}}}' && sleep 1 && stored '{"lastUpdatedTime":"2026-11-21T04:50:00Z","progressPercentage":41}'; }
check "the controller's own writing leaves it alone" suspended

told() { # RESTARTS STALLS
	echo "{\"supervision\": {\"restarts\": $1, \"lost\": 0, \"stalls\": $2, \"failed\": {\"rank\": 3, \"status\": 137}, \"since\": $(date +%s), \"at\": $(date +%s),
		\"seconds\": {\"queued\": 0, \"starting\": 1, \"productive\": 7, \"stalled\": 0, \"repeated\": 0, \"restarting\": 2}}}"
}
supervision() { kc get trainjob one -n $ns -o 'jsonpath={.status.supervision.restarts} {.status.supervision.failed.rank} {.status.supervision.seconds.productive} {.status.trainerStatus.progressPercentage}' | tee /dev/stderr | grep -qx "$1"; }
restarted() { kc get events -n $ns --field-selector "reason=$1" -o 'jsonpath={range .items[*]}{.type} {.involvedObject.name} {.message}{"\n"}{end}' | tee /dev/stderr | grep -qx "Warning one $2"; }
check "what a supervisor tells is taken" answers 200 '^{}$' "$good" $ns one "$(told 1 0)"
check "and stored beside the progress" supervision '1 3 7 41'
check "again" answers 200 . "$good" $ns one "$(told 2 1)"
check "it replaces what the pod told before" supervision '2 3 7 41'
check "an event for a restart" wait_for 30 restarted Restarted 'rank 3 ended first, with status 137: all ranks start again in their pods, restart 2'
check "and one for a stall" wait_for 30 restarted Stalled 'no output and no progress .*'
check "numbers that are none" answers 422 'Invalid payload' "$good" $ns one "$(told -1 0)"

check "no token" forbidden "" $ns one "$full"
check "no token of this cluster's" forbidden "a.b.c" $ns one "$full"
check "a token that has been tampered with" forbidden "${good%?????}AAAAA" $ns one "$full"
check "a token for another audience" forbidden "$(kc create token default -n $ns)" $ns one "$full"
check "a token of no pod" forbidden "$(kc create token default -n $ns --audience "$(audience $ns one)")" $ns one "$full"
check "a pod of another TrainJob" forbidden "$(token $ns "$pod2" "$uid2" "$(audience $ns one)")" $ns one "$full"
check "the right pod for another TrainJob" forbidden "$good" $ns two "$full"
check "a pod of the same name's TrainJob elsewhere" forbidden "$(token $other "$pod3" "$uid3" "$(audience $ns one)")" $ns one "$full"
check "its own is fine" answers 200 . "$(token $other "$pod3" "$uid3" "$(audience $other one)")" $other one "$full"
check "a TrainJob that there is not" forbidden "$good" $ns none "$full"

wrong() { answers 422 "$1" "$good" $ns one "$2"; }
check "a percentage beyond 100: the API server's words" wrong '"message":"TrainJob.trainer.kubeflow.org ..one.. is invalid: .*progressPercentage' \
	'{"trainerStatus": {"progressPercentage": 101, "lastUpdatedTime": "2026-11-21T04:50:00Z"}}'
check "no time" wrong 'lastUpdatedTime' '{"trainerStatus": {"progressPercentage": 1}}'
check "no JSON" wrong '"message":"Invalid payload","reason":"Invalid","code":422' 'progress: 1'
check "a wrong type" wrong 'Invalid payload' '{"trainerStatus": {"progressPercentage": "1"}}'
check "another method" answers 404 '"message":"Not found","reason":"NotFound","code":404' "$good" $ns one '{}' -X PUT
head -c 70000 /dev/zero | tr '\0' ' ' >"$scratch/large"
check "more than 64 KiB" answers 413 '"message":"Payload too large","reason":"RequestEntityTooLarge","code":413' "" $ns one "@$scratch/large"

# ---- each pod trains alone, as the first rank, and reports so -------------------------------------
cat >"$scratch/turns.yaml" <<-YAML
	apiVersion: trainer.kubeflow.org/v1alpha1
	kind: TrainJob
	metadata: {name: turns, namespace: $ns}
	spec: {runtimeRef: {name: torch-distributed}, trainer: {numNodes: 2}}
YAML
in_cluster "$kftrainer" submit --follow "$scratch/turns.yaml" >"$scratch/submitted" 2>&1 &
submit=$!
both() { [ "$(pod_of $ns turns | wc -l)" = 2 ]; }
check "a job of two nodes" wait_for 60 both
in_cluster "$kftrainer" logs -f turns -n $ns >"$scratch/logs" 2>&1 &
logs=$!
{
	read -r first uid1
	read -r second uid2
} < <(pod_of $ns turns | sort)
token1=$(token $ns "$first" "$uid1" "$(audience $ns turns)")
token2=$(token $ns "$second" "$uid2" "$(audience $ns turns)")
alone="pods turns-node-0-[01] and turns-node-0-[01] both report progress"
percent=0
reports() { # TOKEN: the next percentage
	percent=$((percent + 1))
	answers 200 . "$1" $ns turns "{\"trainerStatus\": {\"progressPercentage\": $percent, \"lastUpdatedTime\": \"2026-11-21T04:50:00Z\"}}"
}
alone_events() { kc get events -n $ns --field-selector reason=TrainsAlone -o 'jsonpath={range .items[*]}{.type} {.involvedObject.kind}/{.involvedObject.name} {.message}{"\n"}{end}' | tee /dev/stderr; }
check "its first pod reports" reports "$token1"
check "... and the second" reports "$token2"
check "which alone is no event" eval 'sleep 1; [ -z "$(alone_events)" ]'
check "... and the first again" reports "$token1"
check "which is one" wait_for 20 eval 'alone_events | grep -Eqx "Warning TrainJob/turns $alone, which .* torchrun .*"'
check "they run" report_pods $ns jobset.sigs.k8s.io/jobset-name=turns '{"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}'
check "why says so" wait_for 20 why_says turns "$alone"
warned() { reports "$token2" && grep -Eq "warning: $alone" "$scratch/$1"; } # each report is a reason to look
check "logs -f says so" wait_for 20 warned logs
check "submit --follow says so" wait_for 20 warned submitted
check "one event in all" eval '[ "$(alone_events | wc -l)" = 1 ]'
check "the job completes" report_pods $ns jobset.sigs.k8s.io/jobset-name=turns '{"phase": "Succeeded"}'
check "... submit --follow ends well" wait $submit
check "... and says it again" grep -Eq "warning: it completed, but $alone" "$scratch/submitted"
check "... as why does" why_says turns "completed"
check "... with the cause" grep -Eq "Also: .*$alone" "$scratch/why"
check "... logs -f ends" wait $logs
check "... having said it once" eval '[ "$(grep -c "warning:" "$scratch/logs")" = 1 ]'

# An address that sends forged tokens, whose claims fit, on 50 connections for 20 s. How many of them the
# API server has reviewed is what a good report waited for.
forge() { # FILE: what it was answered, a line for each
	in_cluster timeout 60 python3 - "$cluster_ip" "$service" "$scratch/ca.crt" "/${url#https://*/}/$ns/trainjobs/one/status" "$good" >"$1" <<-'PYTHON'
		import base64, http.client, socket, ssl, sys, threading, time
		address, name, ca, path, good = sys.argv[1:]
		head, claims, mac = good.split(".")
		end, lock = time.time() + 20, threading.Lock()
		context = ssl.create_default_context(cafile=ca)
		def flood(thread):
		    n, conn = 0, None
		    while time.time() < end:
		        n += 1
		        forged = base64.urlsafe_b64encode(b"%06d%09d" % (thread, n)).decode()
		        try:
		            if not conn:
		                conn = http.client.HTTPSConnection(name, 10443, context=context, timeout=30)
		                conn._create_connection = lambda *a, **k: socket.create_connection((address, 10443), 30)
		            conn.request("POST", path, "{}", {"Authorization": f"Bearer {head}.{claims}.{mac[:-20]}{forged}"})
		            answer = conn.getresponse()
		            answer.read()
		            with lock:
		                print(answer.status, flush=True)
		        except OSError:
		            conn = None
		threads = [threading.Thread(target=flood, args=(i,)) for i in range(50)]
		[t.start() for t in threads]
		[t.join() for t in threads]
	PYTHON
}
reviewed() { grep -cx 403 "$scratch/forged"; }
# The good pod reports again and again: reviews that came before it, at most 20 each time, and as many as a
# call took that waits for none of them.
waits() {
	local before probe
	for _ in 1 2 3; do
		before=$(reviewed)
		in_cluster curl -sf --max-time 30 http://127.0.0.1:8081/healthz >/dev/null
		probe=$(($(reviewed) - before)) before=$(reviewed)
		answers 200 . "$good" $ns one "$full" || return 1
		echo "reports after $(($(reviewed) - before)) reviews, a probe after $probe"
		[ $(($(reviewed) - before)) -le $((20 + 3 * probe)) ] || return 1
		sleep 3
	done
}
flooded() { [ "$(reviewed)" -gt 20 ]; }
sleep 11 # the last verdict ends
forge "$scratch/forged" &
forger=$!
check "forged tokens come in" wait_for 15 flooded
check "a report of a job's pod does not wait for them" waits
check "... nor do probes and metrics" eval 'in_cluster curl -sf --max-time 5 http://127.0.0.1:8081/healthz'
wait $forger
check "no forged token was taken" eval '! grep -qx 200 "$scratch/forged"'

# A pod that is gone cannot report; for how long a yes is remembered: progress_auth.h.
gone() { forbidden "$good" $ns one "$full"; }
kc delete pod "$pod" -n $ns --force --grace-period=0 >/dev/null 2>&1
check "a pod that has been deleted" wait_for 40 gone

no_secret() { ! grep -F -e "${good##*.}" -e "$(cut -d. -f2 <<<"$good")" "$controller_log"; }
check "no token in the log" no_secret
alive() { in_cluster kill -0 "$(controller_pid)"; }
check "the controller still runs" alive
kc delete namespace $ns $other --wait=false >/dev/null
finish
