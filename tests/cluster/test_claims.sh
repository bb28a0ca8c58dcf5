#!/bin/bash
# Devices by dynamic resource allocation: the real scheduler and claim controller allocate what
# resourceClaimsPerNode says. The devices and their node are objects that the test writes; what a
# kubelet would report is written into the pods' status.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
cluster_up
ns=claims-$$ driver=gpu-$$.example.com
kt() { kc -n $ns "$@"; }
kc create namespace $ns >"$scratch/namespace"
check "the controller starts" controller_up

node_up() {
	local now size='"cpu":"8","memory":"8Gi","pods":"20"'
	now=$(date -u +%FT%T.000000Z)
	kc apply -f - <<-END >/dev/null || return 1
		apiVersion: v1
		kind: Node
		metadata: {name: devices, labels: {kubernetes.io/hostname: devices}}
		---
		apiVersion: coordination.k8s.io/v1
		kind: Lease
		metadata: {name: devices, namespace: kube-node-lease}
		spec: {holderIdentity: devices, leaseDurationSeconds: 3600, renewTime: "$now"}
		---
		apiVersion: resource.k8s.io/v1
		kind: DeviceClass
		metadata: {name: $driver}
		spec: {selectors: [{cel: {expression: device.driver == "$driver"}}]}
		---
		apiVersion: resource.k8s.io/v1
		kind: ResourceSlice
		metadata: {name: devices-$$}
		spec:
		  driver: $driver
		  nodeName: devices
		  pool: {name: devices, generation: 1, resourceSliceCount: 1}
		  devices: [{name: d0}, {name: d1}, {name: d2}, {name: d3}, {name: d4}]
	END
	kc patch node devices --subresource status -p "{\"status\":{\"capacity\":{$size},\"allocatable\":{$size},
		\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"KubeletReady\",
		\"lastHeartbeatTime\":\"${now%.*}Z\",\"lastTransitionTime\":\"${now%.*}Z\"}]}}" >/dev/null
}
check "a node has five devices" node_up

job() { # NAME TRAINER
	cat <<-END
		---
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1}
		spec: {runtimeRef: {kind: TrainingRuntime, name: rt}, trainer: {$2}}
	END
}
submit() {
	kt create -f - <<-END
		apiVersion: resource.k8s.io/v1
		kind: ResourceClaimTemplate
		metadata: {name: pair}
		spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: $driver, count: 2}}]}}}
		---
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: rt}
		spec:
		  mlPolicy: {torch: {}}
		  template: {spec: {replicatedJobs: [{name: node, template: {
		    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		    spec: {backoffLimit: 0, template: {spec: {
		      tolerations: [{operator: Exists}], nodeSelector: {kubernetes.io/hostname: devices},
		      containers: [{name: node, image: i}]}}}}}]}}
		$(job pair 'numNodes: 2, resourceClaimsPerNode: [{name: gpu, resourceClaimTemplateName: pair}]')
	END
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
	[ "$(kt get pods -o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' | grep -c devices)" = 2 ]
}
processes() {
	kt get jobset pair -o jsonpath='{..containers[0].env[?(@.name=="PET_NPROC_PER_NODE")].value}' | grep -x 2
}
check "a job of two nodes that claim two devices each" submit
check "... starts two processes on each" wait_for 30 processes
check "... gets a claim for each pod, of devices of its own" wait_for 60 two_pairs
check "... and both pods a node" wait_for 60 both_placed
check "... which end" report_pods $ns jobset.sigs.k8s.io/jobset-name=pair '{"phase":"Succeeded"}'
check "... and give the devices back" wait_for 60 eval '! kt get resourceclaims -o name | grep .'

refused() { # PATTERN TRAINER
	job bad "$2" | kt create -f - >"$scratch/out" 2>&1 && return 1
	cat "$scratch/out"
	grep -q -e "$1" "$scratch/out"
}
claim='resourceClaimsPerNode: [{name: gpu'
check "refused: two sources" refused 'resourceClaimsPerNode\[0\]' "$claim, resourceClaimName: a, resourceClaimTemplateName: b}]"
check "refused: two of a name" refused 'resourceClaimsPerNode\[1\]: Duplicate' "$claim, resourceClaimName: a}, {name: gpu, resourceClaimName: b}]"
check "refused: no such container" refused 'containerNames\[0\]' "$claim, resourceClaimName: a, containerNames: [x]}]"
check "refused: claims in resourcesPerNode" refused resourceClaimsPerNode 'resourcesPerNode: {claims: [{name: a}]}'
controller_down
check "the controller starts with the feature gate off" controller_up --feature-gates TrainJobResourceClaims=false
check "refused: claims" refused 'TrainJobResourceClaims is off' "$claim, resourceClaimName: a}]"
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
	job old "numNodes: 1, $claim, resourceClaimName: a}]" >"$scratch/old.yaml"
	in_cluster "$kftrainer" submit -n $ns "$scratch/old.yaml" >"$scratch/out" 2>&1 && return 1
	cat "$scratch/out"
	grep -q 'resourceClaimsPerNode: Unknown field: the TrainJob CRD in the cluster lacks it' "$scratch/out"
}
check "refused: claims, for that" wait_for 30 lacks
kc delete node/devices "deviceclass/$driver" "resourceslice/devices-$$" >/dev/null
kc delete namespace $ns --wait=false >/dev/null
finish
