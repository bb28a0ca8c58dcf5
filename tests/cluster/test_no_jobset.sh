#!/bin/bash
# JobSet is not installed, and then it is; webhook configurations that somebody has touched.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
cluster_up
check "the controller serves" controller_up
ns=waits-$$
missing='JobSet, which Kubeflow Trainer needs, is not installed in the cluster'
crd=jobsets.jobset.x-k8s.io
kc create namespace $ns >/dev/null

job() {
	kc create -f - 2>&1 <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1, namespace: $ns}
		spec: {runtimeRef: {name: torch-distributed}, suspend: true}
	END
}
event() { kc get events -n $ns -o jsonpath='{range .items[*]}{.message}{"\n"}{end}' | grep "reconciliation failed: $missing\$"; }
readiness() { in_cluster curl -s "http://127.0.0.1:8081/readyz"; }
why() { in_cluster "$kftrainer" why early -n $ns | tr '\n' ' ' | tr -s ' ' | tee "$scratch/why" | grep "$missing" || cat "$scratch/why"; }
since() { echo "# after $((($(date +%s%N) - at) / 1000000)) ms"; }

# ---- webhook configurations ----------------------------------------------------------------------
bundles() { kc get "$1" "$2" -o jsonpath='{.webhooks[*].clientConfig.caBundle}' | tr ' ' '\n' | sort -u; }
mended() { [ -n "$want" ] && [ "$(bundles "$1" "$2")" = "$want" ]; }
for which in validatingwebhookconfiguration/validator.trainer.kubeflow.org mutatingwebhookconfiguration/defaulter.trainer.kubeflow.org; do
	kind=${which%/*} name=${which#*/}
	want=$(bundles "$kind" "$name")
	n=$(kc get "$kind" "$name" -o jsonpath='{.webhooks[*].name}' | wc -w)
	for value in '' 'd3Jvbmc='; do
		for i in $(seq 0 $((n - 1))); do echo "{\"op\": \"add\", \"path\": \"/webhooks/$i/clientConfig/caBundle\", \"value\": \"$value\"}"; done |
			paste -sd, | sed 's/.*/[&]/' >"$scratch/patch"
		kc patch "$kind" "$name" --type json -p "$(cat "$scratch/patch")" >"$scratch/out" 2>&1 || {
			echo "# refused by the API server: $(cat "$scratch/out")"
			continue
		}
		at=$(date +%s%N)
		check "$kind: a bundle '$value' is put back" wait_for 60 mended "$kind" "$name"
		since
	done
	kc delete "$kind" "$name" >/dev/null
	trainer_applied >"$scratch/install" 2>&1
	at=$(date +%s%N)
	check "$kind: once recreated, it gets its bundle" wait_for 60 mended "$kind" "$name"
	since
done
check "the webhooks answer" wait_for 60 controller_ready

# ---- JobSet --------------------------------------------------------------------------------------
kept_crd() { # NAME
	kc get crd "$1" -o json | python3 -c '
import json, sys
crd = json.load(sys.stdin)
crd["metadata"] = {key: crd["metadata"][key] for key in ("name", "labels", "annotations") if key in crd["metadata"]}
del crd["status"]
json.dump(crd, sys.stdout)' >"$scratch/crd.json"
}
kept_crd $crd
check "JobSet is removed" kc delete crd $crd --wait
check "a TrainJob is created" job early
check "its event says that JobSet is missing" wait_for 60 event
says_so() { readiness | grep -Fx -- "[-]jobset failed: $missing"; }
check "... readiness" wait_for 60 says_so
check "... why" why
check "... the log, once" [ "$(grep -c "$missing" "$controller_log")" = 1 ]
check "JobSet comes back" kc create -f "$scratch/crd.json"
check "... and is established" wait_for 60 kc wait --for=condition=Established --timeout=60s crd $crd
at=$(date +%s%N)
check "the TrainJob goes on" wait_for 60 kc get jobset early -n $ns
since
ready() { [ "$(readiness)" = ok ]; }
check "... and readiness is as always" wait_for 60 ready

# ---- PodGroup ------------------------------------------------------------------------------------
kc apply -f - <<-END >/dev/null
	apiVersion: trainer.kubeflow.org/v1alpha1
	kind: TrainingRuntime
	metadata: {name: gang, namespace: $ns}
	spec:
	  podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 10}}
	  template: {spec: {replicatedJobs: [{name: node, template: {
	    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
	    spec: {template: {spec: {containers: [{name: node, image: i}]}}}}}]}}
END
gang() {
	kc create -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: gang, namespace: $ns}
		spec: {runtimeRef: {kind: TrainingRuntime, name: gang}}
	END
}
resources() { kc get trainjob gang -n $ns -o jsonpath='{.status.conditions[?(@.type=="ResourcesCreated")].reason}'; }
blocked() { [ "$(resources)" = PodGroupNotInstalled ]; }
unblocked() { kc get jobset gang -n $ns && [ -z "$(kc get trainjob gang -n $ns -o jsonpath='{.status.conditions}')" ]; }
why_gang() { in_cluster "$kftrainer" why gang -n $ns -o json | grep '"reason": *"PodGroupNotInstalled"'; }
crd=podgroups.scheduling.x-k8s.io
kept_crd $crd
check "the kind PodGroup is removed" kc delete crd $crd --wait
check "a TrainJob with a gang is created" gang
check "a condition says that PodGroup is missing" wait_for 60 blocked
check "... why" wait_for 60 why_gang
check "... readiness does not" ready
check "PodGroup comes back" kc create -f "$scratch/crd.json"
check "... and is established" wait_for 60 kc wait --for=condition=Established --timeout=60s crd $crd
at=$(date +%s%N)
check "the TrainJob goes on, without the condition" wait_for 10 unblocked
since
finish
