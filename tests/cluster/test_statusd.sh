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
