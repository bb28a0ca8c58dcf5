# Part of test_queue.sh. Topologies of Kueue: jobs whose pods belong in one rack, on six nodes in
# three racks, with room for a pod each. The scheduler places the pods that Kueue lets go; nodes
# are objects, as there is no kubelet.
# shellcheck shell=bash disable=SC2154 # of lib.sh and queue_admission.sh
ns=racks-$$
kn() { kc -n $ns "$@"; }
kt() { in_cluster "$kftrainer" "$@" -n $ns; }

# ---- nodes ---------------------------------------------------------------------------------------
# r1 and r2 are in block b1, r3 is in b2.
nodes='r1-a r1-b r2-a r2-b r3-a r3-b'
node_objects() {
	local node rack now size='{cpu: 1, memory: 8Gi, pods: 20}'
	now=$(date -u +%FT%TZ)
	for node in $nodes; do
		rack=${node%-*}
		cat <<-END
			---
			apiVersion: v1
			kind: Node
			metadata:
			  name: $node
			  labels: {kubernetes.io/hostname: $node, pool: racks, example.com/rack: $rack, example.com/block: ${rack/r[12]/b1}}
			status:
			  capacity: $size
			  allocatable: $size
			  conditions: [{type: Ready, status: "True", reason: KubeletReady, lastHeartbeatTime: "$now", lastTransitionTime: "$now"}]
		END
	done
}
no_taints() { ! kc get nodes -l pool=racks -o 'jsonpath={.items[*].spec.taints}' | grep .; }
nodes_up() { node_objects | kc create -f - && wait_for 30 no_taints; }
check "six nodes in three racks" nodes_up

# ---- queue and runtimes --------------------------------------------------------------------------
runtime() { # NAME ANNOTATION [JOBS-BEFORE [OF-THE-NODES]]
	cat <<-END
		---
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: $1}
		spec:
		  mlPolicy: {numNodes: 2, torch: {}}
		  template: {spec: {replicatedJobs: [${3:-}{name: node, ${4:-} template: {
		    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		    spec: {backoffLimit: 0, template: {
		      metadata: {annotations: {$2}},
		      spec: {containers: [{name: node, image: i}]}}}}}]}}
	END
}
rack='kueue.x-k8s.io/podset-required-topology: example.com/rack'
initializer='{name: dataset-initializer, template: {
  metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}},
  spec: {template: {spec: {containers: [{name: dataset-initializer, image: i, resources: {requests: {cpu: 1}},
    volumeMounts: [{name: initializer, mountPath: /w}]}], volumes: [{name: initializer, emptyDir: {}}]}}}}}, '
objects() {
	kc create namespace $ns && kn apply -f - <<-END
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: Topology
		metadata: {name: racks-$$}
		spec: {levels: [{nodeLabel: example.com/block}, {nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}]}
		---
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: ResourceFlavor
		metadata: {name: racks-$$}
		spec: {nodeLabels: {pool: racks}, topologyName: racks-$$}
		---
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: ClusterQueue
		metadata: {name: racks-$$}
		spec:
		  namespaceSelector: {}
		  resourceGroups:
		  - coveredResources: [cpu]
		    flavors: [{name: racks-$$, resources: [{name: cpu, nominalQuota: 100}]}]
		---
		$(local_queues racks racks-$$)
		$(runtime rack "$rack")
		$(runtime room "kueue.x-k8s.io/podset-required-topology: example.com/room")
		$(runtime steps "$rack" "$initializer" 'dependsOn: [{name: dataset-initializer, status: Complete}],')
	END
}
check "a topology of blocks, racks and hosts, with a queue" objects

train() { # NAME NODES SPEC
	kn create -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: racks}}
		spec: {$3, trainer: {numNodes: $2, resourcesPerNode: {requests: {cpu: 1}}}}
	END
}
of_runtime() { echo "runtimeRef: {kind: TrainingRuntime, name: $1}"; }
patched() { # ANNOTATIONS
	echo "runtimeRef: {name: torch-distributed}, runtimePatches: [{manager: example.com/me, trainingRuntimeSpec: {template: {spec: {
		replicatedJobs: [{name: node, template: {spec: {template: {metadata: {annotations: {$1}}}}}}]}}}}]"
}
of() { kn get trainjob "$1" -o "jsonpath={$2}"; }
pods_of() { # JOB PATH: of each of its nodes, in the order of their ranks
	kn get pods -l "jobset.sigs.k8s.io/jobset-name=$1,jobset.sigs.k8s.io/replicatedjob-name=node" \
		-o "jsonpath={range .items[*]}{.metadata.labels.batch\.kubernetes\.io/job-completion-index} {$2}{\"\n\"}{end}" | sort -n | cut -d ' ' -f 2
}
racks_of() { pods_of "$1" .spec.nodeName | cut -d - -f 1; }
# "1 2": one pod in a rack, and two in another. Pods without a node are in none, and counted.
spread() { racks_of "$1" | sort | uniq -c | awk '{ print $1 ($2 == "" ? "?" : "") }' | sort -n | xargs; }
is() { # WHAT COMMAND...: that it prints
	local said
	said=$("${@:2}") || return 1
	[ "$said" = "$1" ] || { echo "$said"; return 1; }
}
becomes() { wait_for 30 is "$@"; }
template() { kn get jobset "$1" -o "jsonpath={.spec.replicatedJobs[-1:].template.spec.template.$2}"; }
no_pods() { ! kn get pods -l "jobset.sigs.k8s.io/jobset-name=$1" -o name | grep .; }
# Those that have a node wait for its kubelet to end them.
pods_end() { # JOB...
	local pods
	pods=$(kn get pods -o 'jsonpath={range .items[?(@.metadata.deletionTimestamp)]}{.metadata.name} {end}')
	# shellcheck disable=SC2086
	[ -z "$pods" ] || kn delete pods --force --grace-period=0 $pods
	for job; do no_pods "$job" || return 1; done
}
gone() { kn delete trainjob "$@" && wait_for 30 pods_end "$@"; }
reason() { # JOB REASON: of the only cause that `why` gives
	why "$1" -o json | python3 -c '
import json, sys
w = json.load(sys.stdin)
print(json.dumps(w["causes"], indent=1))
assert [c["reason"] for c in w["causes"]] == [sys.argv[1]], "not only " + sys.argv[1]' "$2"
}

# ---- required ------------------------------------------------------------------------------------
check "a job of two nodes for one rack, by its runtime" train first 2 "$(of_runtime rack)"
check "... runs in one rack" becomes 2 spread first
check "... Kueue's gate is in the template" is '[{"name":"kueue.x-k8s.io/topology"}]' template first spec.schedulingGates
check "... and the flavor's nodes" is '{"pool":"racks"}' template first spec.nodeSelector
check "... and the request" is example.com/rack template first 'metadata.annotations.kueue\.x-k8s\.io/podset-required-topology'
check "another one, by a patch" train second 2 "$(patched "$rack")"
check "... runs in another rack" becomes 2 spread second
apart() { ! comm -12 <(racks_of first | sort) <(racks_of second | sort) | grep .; }
check "... not in the first one's" apart
check "one of three nodes" train third 3 "$(of_runtime rack)"
check "... fits no rack, as \`why\` says" wait_for 30 reason third TopologyFull
check "... in Kueue's numbers" why_says third '^third is suspended: .*example.com/rack.*only 2 out of 3 pod'
check "... it stays suspended, without pods" eval 'no_pods third && is true of third .spec.suspend'

# ---- suspend, resume -----------------------------------------------------------------------------
check "the first one is suspended" kt suspend first
check "... its pods go" wait_for 30 pods_end first
given_back() { is "" template first spec.schedulingGates && is "" template first spec.nodeSelector; }
check "... so do Kueue's gate and nodes" wait_for 30 given_back
check "... not the request" is example.com/rack template first 'metadata.annotations.kueue\.x-k8s\.io/podset-required-topology'
check "it is resumed" kt resume first
check "... and runs in one rack again" becomes 2 spread first
check "... not in the second one's" apart
check "one with a patch of its own is suspended, and resumed" eval 'kt suspend second && wait_for 30 pods_end second && kt resume second'
check "... and runs in one rack again" becomes 2 spread second

# ---- preferred, slices, steps --------------------------------------------------------------------
check "the second and the third are deleted" gone second third
check "one of three nodes that prefers one rack" train preferred 3 "$(patched 'kueue.x-k8s.io/podset-preferred-topology: example.com/rack')"
check "... runs in two" becomes "1 2" spread preferred
check "they are deleted" gone first preferred
check "one of four nodes, in slices of two for a rack each" train slices 4 \
	"$(patched 'kueue.x-k8s.io/podset-slice-required-topology: example.com/rack, kueue.x-k8s.io/podset-slice-size: "2"')"
check "... runs in two racks" becomes "2 2" spread slices
in_slices() { is "2 2" eval 'racks_of slices | uniq -c | awk "{ print \$1 }" | xargs'; }
check "... each with ranks that follow each other" in_slices
check "it is deleted" gone slices
check "a job with an initializer" train steps 2 "$(of_runtime steps), initializer: {dataset: {storageUri: \"hf://a/b\"}}"
step_placed() { kn get pods -l jobset.sigs.k8s.io/replicatedjob-name=dataset-initializer -o 'jsonpath={.items[*].spec.nodeName}' | grep .; }
check "... which has a node" wait_for 30 step_placed
check "... and ends" report_pods $ns jobset.sigs.k8s.io/replicatedjob-name=dataset-initializer '{"phase": "Succeeded"}'
check "... then its nodes run in one rack" becomes 2 spread steps

# ---- bad input -----------------------------------------------------------------------------------
check "a level that the topology does not have" train unknown 2 "$(of_runtime room)"
check "... is the one cause that \`why\` gives" wait_for 30 reason unknown TopologyLevelNotFound
check "... and named" why_says unknown '^unknown is suspended: .*example\.com/room'
refused() { # PATTERN ANNOTATIONS
	train bad 2 "$(patched "$2")" >"$scratch/refused" 2>&1 && return 1
	cat "$scratch/refused"
	grep -q -e "$1" "$scratch/refused"
}
check "refused: required and preferred" refused 'must not contain more than one topology annotation' \
	"$rack, kueue.x-k8s.io/podset-preferred-topology: example.com/rack"
check "refused: slices without their size" refused 'podset-slice-size.*Required' 'kueue.x-k8s.io/podset-slice-required-topology: example.com/rack'

kn delete trainjobs --all --wait=false >/dev/null
kc delete namespace $ns --wait=false >/dev/null
kc delete nodes -l pool=racks >/dev/null
kc delete clusterqueue racks-$$ --wait=false >/dev/null
