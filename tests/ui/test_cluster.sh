#!/bin/bash
# The page against a real API server, in Chromium: a user who may change jobs, and one who may only read them. There is
# no kubelet: what one would report is written into the pods' status here.
# before: tests/setup.sh cluster
# before: tests/store/versitygw.sh
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/../cluster/lib.sh"
cluster_up
check "the controller starts" controller_up
kc create namespace lab >"$scratch/namespace"
kt() { kc -n lab "$@"; }
trainjob() { # NAME TEAM [MORE OF SPEC [MORE OF METADATA]]
	kt create -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1, labels: {team: $2}${4:+, $4}}
		spec: {runtimeRef: {name: torch-distributed}, trainer: {numNodes: 2, command: [python, train.py]}${3:+, $3}}
	END
}
container() { # PHASE STATE READY RESTARTS
	echo "{\"phase\":\"$1\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"$3\"}],\"containerStatuses\":[{\"name\":\"node\",\"image\":\"i\",\"imageID\":\"\",\"ready\":${3,,},\"restartCount\":${4:-0},\"state\":$2${5:+, $5}}]}"
}
pods() { [ "$(kt get pods -l "jobset.sigs.k8s.io/jobset-name=$1" -o name | wc -l)" = "$2" ]; }
report() { report_pods lab "jobset.sigs.k8s.io/jobset-name=$1" "$2"; } # JOB STATUS: of all its pods

check "jobs" eval 'trainjob bert blue && trainjob vit red && tried_once 2 | kt create -f - && trainjob waits blue "suspend: true" "annotations: {kftrainer.io/run-dir: s3://runs/waits}"'
check "their pods" eval 'wait_for 60 pods bert 2 && wait_for 60 pods vit 2 && wait_for 60 pods once 2'
at() { date -u -d "+$1 seconds" +%FT%TZ; }
running() { echo "{\"running\":{\"startedAt\":\"$(at 5)\"}}"; }
ended() { echo "{\"terminated\":{\"exitCode\":$1,\"reason\":\"$2\",\"startedAt\":\"$(at 2)\",\"finishedAt\":\"$(at 4)\"}}"; }
check "... run" report bert "$(container Running "$(running)" True)"
check "... restart" report vit "$(container Running "$(running)" True 2 "\"lastState\":$(ended 137 OOMKilled)")"
check "... fail, with a binary message" report once "$(container Failed "$(ended 7 Error | sed 's/"reason"/"message":"core\\u0000dump","reason"/')" False)"
mkdir "$scratch/code"
# What it reported before it was suspended: its run directory has that, too, and more.
line() { echo "{\"time\": \"2026-11-20T10:00:0$1Z\", \"lastUpdatedTime\": \"2026-11-20T10:00:0$1Z\", \"metrics\": [{\"name\": \"loss\", \"value\": \"0.$2\"}]}"; }
for part in 1/metrics:1:9 1/metrics.2:3:7 1/metrics.10:4:6 10/metrics:6:4 2/metrics:5:5 2/events:9:1; do
	IFS=: read -r file second value <<<"$part"
	mkdir -p "$scratch/s3/runs/waits/attempts/${file%/*}"
	line "$second" "$value" >"$scratch/s3/runs/waits/attempts/$file.jsonl"
done
{ line 7 31 && line 8 29 && printf '{"time": "2026-11-20T10:00:0'; } >>"$scratch/s3/runs/waits/attempts/10/metrics.jsonl"
check "one has reported" kt patch trainjob waits --subresource=status --type=merge -p "{\"status\": {\"trainerStatus\": $(line 7 31 | sed 's/"time": "[^"]*", //')}}"
check "one is in development" kt annotate trainjob vit kftrainer.io/dev=1h "kftrainer.io/dev-from=$scratch/code"
mkdir -p "$scratch/state/kftrainer/dev"
printf %s "$scratch/code" >"$scratch/state/kftrainer/dev/$(kt get trainjob vit -o 'jsonpath={.metadata.uid}')" # as submit --dev
kc create clusterrole may-read --verb=get,list,watch --resource=trainjobs.trainer.kubeflow.org,clustertrainingruntimes.trainer.kubeflow.org,pods,pods/log,events,jobsets.jobset.x-k8s.io,jobs.batch >"$scratch/role"
kt create rolebinding may-read --clusterrole=may-read --user=reader >>"$scratch/role"
kc create clusterrole may-look --verb=get,list,watch --resource=trainjobs.trainer.kubeflow.org,pods >>"$scratch/role"
kt create rolebinding may-look --clusterrole=may-look --user=guest >>"$scratch/role"
cluster kubeconfig "$scratch/reader" reader
cluster kubeconfig "$scratch/guest" guest
in_cluster env XDG_STATE_HOME="$scratch/state" KFTRAINER="$kftrainer" S3="$(tests/store/versitygw.sh)" FILES="$scratch/s3" READER="$scratch/reader" GUEST="$scratch/guest" python3 tests/ui/cluster.py
finish
