# Part of test_gangs.sh. Devices by dynamic resource allocation: the real scheduler and claim controller
# allocate what resourceClaimsPerNode says. The devices and their node are objects of that test; what a
# kubelet would report is written into the pods' status.
# shellcheck shell=bash disable=SC2154 # of lib.sh and test_gangs.sh
claims() { # NAME TRAINER
	job "$1" claims '' "$2"
}
pair() {
	runtime claims default-scheduler '' '' '' '' ' ' | sed 's/numNodes: 3/torch: {}/'
	claims pair 'numNodes: 2, resourceClaimsPerNode: [{name: gpu, resourceClaimTemplateName: pair}]'
}
allocated() {
	kt get resourceclaims -o jsonpath='{range .items[*]}{.status.allocation.devices.results[*].device}{"\n"}{end}'
}
two_pairs() {
	allocated >"$scratch/allocated"
	cat "$scratch/allocated"
	[ "$(grep -c 'd. d' "$scratch/allocated")" = 2 ] && [ "$(tr ' ' '\n' <"$scratch/allocated" | sort -u | grep -c d)" = 4 ]
}
both_placed() {
	[ "$(kt get pods -o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' | grep -c four)" = 2 ]
}
processes() {
	kt get jobset pair -o jsonpath='{..containers[0].env[?(@.name=="PET_NPROC_PER_NODE")].value}' | grep -x 2
}
check "a job of two nodes that claim two devices each" eval 'pair | kt apply -f -'
check "... starts two processes on each" wait_for 30 processes
check "... gets a claim for each pod, of devices of its own" wait_for 60 two_pairs
check "... and both pods a node" wait_for 60 both_placed
check "... which end" report_pods $ns jobset.sigs.k8s.io/jobset-name=pair '{"phase":"Succeeded"}'
check "... and give the devices back" wait_for 60 eval '! kt get resourceclaims -o name | grep .'

refused() { # PATTERN TRAINER
	claims bad "$2" | kt create -f - >"$scratch/out" 2>&1 && return 1
	cat "$scratch/out"
	grep -q -e "$1" "$scratch/out"
}
claim='resourceClaimsPerNode: [{name: gpu'
check "refused: two sources" refused 'resourceClaimsPerNode\[0\]' "$claim, resourceClaimName: a, resourceClaimTemplateName: b}]"
check "refused: two of a name" refused 'resourceClaimsPerNode\[1\]: Duplicate' "$claim, resourceClaimName: a}, {name: gpu, resourceClaimName: b}]"
check "refused: no such container" refused 'containerNames\[0\]' "$claim, resourceClaimName: a, containerNames: [x]}]"
check "refused: claims in resourcesPerNode" refused resourceClaimsPerNode 'resourcesPerNode: {claims: [{name: a}]}'
controller_down
check "the controller starts with the feature gate off" controller_up --feature-gates DynamicResourceAllocation=false
check "refused: claims" refused 'DynamicResourceAllocation is off' "$claim, resourceClaimName: a}]"
# ---- a CRD without these fields, as upstream's is ------------------------------------------------
kc get crd trainjobs.trainer.kubeflow.org -o json | python3 -c '
import json, sys
crd = json.load(sys.stdin)
for version in crd["spec"]["versions"]:
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    del spec["trainer"]["properties"]["resourceClaimsPerNode"]
crd["metadata"] = {"name": crd["metadata"]["name"], "resourceVersion": crd["metadata"]["resourceVersion"]}
del crd["status"]
json.dump(crd, sys.stdout)' >"$scratch/crd.json"
check "the CRD has no such field" kc replace -f "$scratch/crd.json"
lacks() {
	claims old "numNodes: 1, $claim, resourceClaimName: a}]" >"$scratch/old.yaml"
	in_cluster "$kftrainer" submit -n $ns "$scratch/old.yaml" >"$scratch/out" 2>&1 && return 1
	cat "$scratch/out"
	grep -q 'resourceClaimsPerNode: Unknown field: the TrainJob CRD in the cluster lacks it' "$scratch/out"
}
check "refused: claims, for that" wait_for 30 lacks
