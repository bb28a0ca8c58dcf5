# Part of test_queue.sh. TrainJobs that claim devices: Kueue 0.19 does not know those fields, and drops
# them when it resumes a job. Such jobs stay suspended; they do not run without their devices.
# shellcheck shell=bash disable=SC2154 # of lib.sh
ns=queue-claims-$$
kn() { kc -n $ns "$@"; }
claim='[{name: gpu, resourceClaimTemplateName: t}]'
objects() {
	kc create namespace $ns && kn apply -f - <<-END
		$(local_queues mine team)
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: given, labels: {kueue.x-k8s.io/queue-name: mine}}
		spec:
		  runtimeRef: {name: torch-distributed}
		  trainer: {numNodes: 1, resourcesPerNode: {requests: {cpu: 1}}, resourceClaimsPerNode: $claim}
		---
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: patched, labels: {kueue.x-k8s.io/queue-name: mine}}
		spec:
		  runtimeRef: {name: torch-distributed}
		  trainer: {numNodes: 1, resourcesPerNode: {requests: {cpu: 1}}}
		  runtimePatches: [{manager: example.com/me, trainingRuntimeSpec: {template: {spec: {
		    replicatedJobs: [{name: node, template: {spec: {template: {spec: {resourceClaims: $claim}}}}}]}}}}]
	END
}
check "two jobs that claim devices, by their trainer and by a patch" objects
held() {
	why "$1" -o json | python3 -c '
import json, sys
w = json.load(sys.stdin)
print(json.dumps(w, indent=1))
assert [w["state"]] + [c["reason"] for c in w["causes"]] == ["Suspended", "ClaimsNotKnownToKueue"]'
}
check "... are not resumed, as \`why\` says: the first" wait_for 30 held given
check "... the second" wait_for 30 held patched
claims() { kn get jobset "$1" -o 'jsonpath={.spec.suspend} {..resourceClaims[*].resourceClaimTemplateName}' | grep -x 'true t'; }
check "... and keep their claims: the first" claims given
check "... the second" claims patched
kn delete trainjobs --all --wait=false >/dev/null
kc delete namespace $ns --wait=false >/dev/null
