#!/bin/bash
# Gangs with the schedulers that place them: scheduler-plugins' and YuniKorn's, as processes, and
# what `why` says of those that wait. gangs.sh has the nodes and the jobs. Volcano is not run: its
# own types read our PodGroups. gangs_claims.sh, on the same cluster: devices, by the default scheduler.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/cluster/gangs.sh
. "$(dirname "$0")/gangs.sh"
rounds=${KFT_GANG_ROUNDS:-6} # 20 in tests/soak
cluster_up
ns=gangs-$$
kc create namespace $ns >"$scratch/namespace"
check "the controller starts" controller_up --feature-gates TrainJobResourceClaims=true
exec 3>&1 # figures
room='"cpu":"4","memory":"8Gi","pods":"20","nvidia.com/gpu":"4"'
check "a node has room for four pods" node_up four "$room"

# ---- two gangs -----------------------------------------------------------------------------------
# One of both has three pods placed and the other none.
one_runs() {
	local both
	both="$(bound a) $(bound b)"
	echo "$both"
	[ "$both" = "3 0" ] || [ "$both" = "0 3" ]
}
says() { wait_for "${patience:-30}" says_only "$@"; }

# ---- the default scheduler -----------------------------------------------------------------------
# The pods of two jobs come by turns: gates hold them until then.
turns='schedulingGates: [{name: test/turn}],'
of_rank() { # JOB RANK: its pod
	kt get pods -l "jobset.sigs.k8s.io/jobset-name=$1,batch.kubernetes.io/job-completion-index=$2" -o name
}
six() { [ "$(kt get pods -o name | wc -l)" = 6 ]; }
by_turns() { # RUNTIME
	local rank name
	{ job a "$1" && job b "$1"; } | kt create -f - && wait_for 60 six || return 1
	for rank in 0 1 2; do
		for name in a b; do
			kt patch "$(of_rank $name $rank)" --type json -p '[{"op":"remove","path":"/spec/schedulingGates"}]' || return 1
		done
		[ $rank != 1 ] || [ -z "${2:-}" ] || wait_for 30 eval "$2" || return 1
	done
}
two_and_two() { [ "$(bound a)" = 2 ] && [ "$(bound b)" = 2 ]; }
third_waits() { two_and_two && why "$1" | grep 'no node can run 1 of its 3 pods: .*Insufficient cpu'; }
runtime default default-scheduler '' '' '' "$turns" | kt apply -f - >/dev/null
check "the default scheduler: pods of two jobs of three come by turns" by_turns default two_and_two
check "... the jobs block each other, two pods each" eval 'wait_for 30 third_waits a && wait_for 30 third_waits b'
gone a b >/dev/null

# ---- scheduler-plugins ---------------------------------------------------------------------------
check "the scheduler of scheduler-plugins starts" coscheduling_up
policy='podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 10}}'
runtime plugins scheduler-plugins "$policy" | kt apply -f - >/dev/null
runtime turns scheduler-plugins "${policy/10/3}" '' '' "$turns" | kt apply -f - >/dev/null
check "coscheduling: pods of two jobs of three come by turns" by_turns turns
check "... one job runs, the other has no pod placed" wait_for 60 one_runs
gone a b >/dev/null
check "coscheduling: of two jobs of three one runs, then the other, $rounds times" rounds_of "$rounds" plugins poke

initializer() { # NAME
	echo "{name: $1, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: $1}},
		spec: {template: {spec: {schedulerName: scheduler-plugins, containers: [{name: $1, image: i, resources: {requests: {cpu: 1}}}]}}}}}, "
}
after='dependsOn: [{name: dataset-initializer, status: Complete}, {name: model-initializer, status: Complete}],'
runtime steps scheduler-plugins "$policy" "$(initializer dataset-initializer)$(initializer model-initializer)" "$after" |
	kt apply -f - >/dev/null
with_steps() {
	job steps steps | kt create -f - >/dev/null || return 1
	for step in dataset-initializer model-initializer; do
		wait_for 60 eval "[ \"\$(bound steps $step)\" = 1 ]" && succeed steps $step || return 1
	done
	wait_for 60 eval '[ "$(bound steps node)" = 3 ]' && succeed steps node && wait_for 30 complete steps && gone steps
}
check "coscheduling: two initializers, then the gang" with_steps
# As upstream writes them: each pod is of the gang, and minMember counts them all.
upstream() {
	local pod='labels: {scheduling.x-k8s.io/pod-group: upstream}}, spec: {restartPolicy: Never, schedulerName: scheduler-plugins,
		containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}'
	kt apply -f - <<-END
		apiVersion: scheduling.x-k8s.io/v1alpha1
		kind: PodGroup
		metadata: {name: upstream}
		spec: {minMember: 5, minResources: {cpu: 5}, scheduleTimeoutSeconds: 10}
		---
		apiVersion: jobset.x-k8s.io/v1alpha2
		kind: JobSet
		metadata: {name: upstream}
		spec: {replicatedJobs: [
		  {name: dataset-initializer, template: {spec: {template: {metadata: {$pod}}}},
		  {name: model-initializer, template: {spec: {template: {metadata: {$pod}}}},
		  {name: node, $after template: {spec: {parallelism: 3, completions: 3, template: {metadata: {$pod}}}}]}
	END
}
stuck() {
	kt get pods -o jsonpath='{range .items[*]}{.spec.nodeName}{.status.conditions[*].message}{"\n"}{end}' >"$scratch/stuck"
	cat "$scratch/stuck"
	[ "$(grep -c '^0/.*cannot find enough sibling pods, current pods number: [12], minMember of group: 5' "$scratch/stuck")" = 2 ] &&
		[ "$(wc -l <"$scratch/stuck")" = 2 ]
}
check "upstream's objects for them are made" upstream
check "... the initializers wait for nodes that wait for them" wait_for 60 stuck
kt delete jobset upstream --wait=false >/dev/null
wait_for 30 eval "kt delete pods --all --grace-period=0 --force --wait=false; ! kt get pods -o name | grep ." >/dev/null

# ---- what why says of a gang ---------------------------------------------------------------------
driver=gpu-$$.example.com
check "a node has taints" node_up tainted '"cpu":"1","memory":"1Gi","pods":"20"' "taints: [{key: example.com/x, effect: NoSchedule}]"
occupied() { # half of the node, and half of its devices
	kt create -f - <<-END && wait_for 30 eval '[ "$(kt get pod half -o jsonpath={.spec.nodeName})" = four ]'
		apiVersion: v1
		kind: Pod
		metadata: {name: half}
		spec:
		  nodeSelector: {pool: four}
		  containers: [{name: c, image: i, resources: {requests: {cpu: 2, memory: 4Gi}, limits: {nvidia.com/gpu: 2}}}]
		---
		apiVersion: resource.k8s.io/v1
		kind: DeviceClass
		metadata: {name: $driver}
		spec: {selectors: [{cel: {expression: device.driver == "$driver"}}]}
		---
		apiVersion: resource.k8s.io/v1
		kind: ResourceSlice
		metadata: {name: four-$$}
		spec:
		  driver: $driver
		  nodeName: four
		  pool: {name: four, generation: 1, resourceSliceCount: 1}
		  devices: [{name: d0}, {name: d1}, {name: d2}, {name: d3}, {name: d4}]
		---
		apiVersion: resource.k8s.io/v1
		kind: ResourceClaimTemplate
		metadata: {name: pair}
		spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: $driver, count: 2}}]}}}
		---
		apiVersion: resource.k8s.io/v1
		kind: ResourceClaimTemplate
		metadata: {name: classless}
		spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: absent, count: 1}}]}}}
		---
		apiVersion: v1
		kind: PersistentVolumeClaim
		metadata: {name: waits}
		spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
	END
}
check "half of the other is in use" occupied
few='cpu: 100m'
gang() { # NAME REQUESTS [POD [TRAINER [POLICY]]]
	runtime "$1" scheduler-plugins "${5:-$policy}" '' '' "${3:-}" "$2"
	job "$1" "$1" '' "${4:-}"
}
gangs() {
	gang cpu 'cpu: 1'
	gang memory "$few, memory: 2Gi"
	gang gpu "$few}, limits: {nvidia.com/gpu: 1"
	gang selector "$few" 'nodeSelector: {pool: none},'
	gang affinity "$few" 'affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
		{matchExpressions: [{key: pool, operator: In, values: [none]}]}]}}},'
	gang taints "$few" 'nodeSelector: {pool: tainted},'
	gang volume "$few" 'volumes: [{name: v, persistentVolumeClaim: {claimName: waits}}],'
	gang devices "$few" '' 'resourceClaimsPerNode: [{name: d, resourceClaimTemplateName: pair}]'
	gang toolarge 'cpu: 3'
	gang notemplate "$few" '' 'resourceClaimsPerNode: [{name: d, resourceClaimTemplateName: absent}]'
	gang noclaim "$few" '' 'resourceClaimsPerNode: [{name: d, resourceClaimName: absent}]'
	gang noclass "$few" '' 'resourceClaimsPerNode: [{name: d, resourceClaimTemplateName: classless}]'
}
check "gangs that cannot start" eval 'gangs | kt create -f -'
check "why: cpu" says cpu 'Gang:its gang needs 3, room for 2 \(cpu\): 0 of its 3 pods have a node \(minMember of PodGroup cpu\)'
check "why: memory" says memory 'Gang:its gang needs 3, room for 2 \(memory\): '
check "why: an extended resource" says gpu 'Gang:its gang needs 3, room for 2 \(nvidia.com/gpu\): '
check "why: a node selector" says selector 'Gang:its gang needs 3, room for 0 \(node selector\): '
check "why: node affinity" says affinity 'Gang:its gang needs 3, room for 0 \(node affinity\): '
check "why: taints" says taints 'Gang:its gang needs 3, room for 0 \(taints\): '
check "why: a volume claim" says volume 'ClaimPending:its gang needs 3, room for 0 \(volume claims\): its PersistentVolumeClaim waits is Pending'
check "why: devices" says devices "NoDevices:its gang needs 3, room for 2 \(devices of $driver\): no node has free devices"
check "why: more than all nodes have" says toolarge \
	'GangTooLarge:its gang needs 3 \(minMember of PodGroup toolarge\), but all nodes together have room for 1 \(cpu\)'
check "why: a claim template that does not exist" says notemplate 'DeviceClaimNotFound:.*ResourceClaimTemplate absent, which does not exist'
check "why: a claim that does not exist" says noclaim 'DeviceClaimNotFound:.*ResourceClaim absent, which does not exist'
check "why: a device class that does not exist" says noclass 'DeviceClassNotFound:.*DeviceClass absent, which does not exist'
kt delete trainjobs --all --wait=false >/dev/null
kt create quota pods --hard=requests.cpu=2300m >/dev/null
check "a gang for which the namespace has no quota" eval 'gang quota "$few" | sed "s/100m/110m/" | kt create -f -'
check "why: a quota" says quota 'ResourceQuota:its gang needs 3, room for 2 \(quota\): its pods cannot be created: a ResourceQuota'
# The gang goes first: without the quota it starts.
kt delete trainjobs --all --wait=false >/dev/null
wait_for 30 eval '! kt get pods -l jobset.sigs.k8s.io/jobset-name=quota -o name | grep .' >/dev/null
kt delete quota pods >/dev/null
# Nine of ten fit, near enough for the scheduler to wait for the tenth: it adds up the room of all
# nodes, whatever their taints.
check "a gang that waits for its last pod" eval 'gang timeout "cpu: 210m" "" "numNodes: 10" \
	"podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 2}}" | kt create -f -'
check "why: scheduleTimeoutSeconds" says timeout 'GangTimeout:its gang needs 10, room for 9 \(cpu\): .*scheduleTimeoutSeconds expired'
kt delete trainjobs --all --wait=false >/dev/null
wait_for 30 eval "kt delete pods --all --grace-period=0 --force --wait=false; ! kt get pods -o name | grep ." >/dev/null
kc delete node tainted >/dev/null

# ---- YuniKorn ------------------------------------------------------------------------------------
check "YuniKorn starts" yunikorn_up
runtime yunikorn yunikorn | kt apply -f - >/dev/null
check "YuniKorn: of two jobs of three one runs, then the other, $rounds times, one at a time in their queue" \
	rounds_of "${KFT_YUNIKORN_ROUNDS:-$rounds}" yunikorn
# One after the other: YuniKorn may give two at once two of the four places each, and then neither runs.
limited() { job a limited root.limited | kt create -f - && wait_for 60 all_placed a && job b limited root.limited | kt create -f -; }
runtime limited yunikorn '' '' '' '' 'cpu: 1, memory: 1Mi' | kt apply -f - >/dev/null
check "YuniKorn: one of two jobs fits the limit of their queue" eval 'node_up four "${room/\"4\"/\"8\"}" && limited'
check "... why" says b 'Gang:its gang needs 3, room for 1 \(vcore of queue root.limited\): '
gone a b >/dev/null
check "a queue that does not exist" eval 'job lost yunikorn root.nowhere | kt create -f -'
check "... why" says lost 'QueueNotFound:YuniKorn refuses it: the queue root.nowhere does not exist'
check "a gang larger than its queue" eval '{ runtime large yunikorn "" "" "" "" "cpu: 2"; job large large root.limited; } | kt create -f -'
check "... why" says large 'QueueTooSmall:YuniKorn refuses it: the queue root.limited allows less in total than its gang requests'
gone lost large >/dev/null

# ---- Volcano -------------------------------------------------------------------------------------
volcano() {
	local file=$scratch/volcano.yaml
	cat >"$file" <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: v}
		spec:
		  mlPolicy: {numNodes: 3}
		  podGroupPolicy: {volcano: {networkTopology: {mode: soft, highestTierAllowed: 2}}}
		  template:
		    metadata: {annotations: {scheduling.volcano.sh/queue-name: q}}
		    spec: {replicatedJobs: [{name: node, template: {
		      metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		      spec: {template: {spec: {priorityClassName: high, schedulerName: volcano,
		        containers: [{name: node, image: i, resources: {requests: {cpu: 500m}, limits: {nvidia.com/gpu: 2}}}]}}}}}]}
		$(job v v)
	END
	"$kftrainer" submit --dry-run=client -o json "$file" | python3 -c '
import json, sys
for o in json.load(sys.stdin)["items"]:
    if o["kind"] == "PodGroup":
        print(json.dumps(o))' | in_cluster volcano >"$scratch/volcano" || return 1
	cat "$scratch/volcano"
	python3 - "$scratch/volcano" <<-'END'
		import json, sys
		assert json.load(open(sys.argv[1])) == {
		    "minMember": 3, "queue": "q", "priorityClassName": "high",
		    "minResources": {"cpu": "1500m", "nvidia.com/gpu": "6"},
		    "networkTopology": {"mode": "soft", "highestTierAllowed": 2}}
	END
}
check "Volcano's types read the PodGroup, and know each field" volcano
unknown() { echo '{"spec":{"minMembers":3}}' | in_cluster volcano; }
check "... they know no other" eval '! unknown'

# shellcheck source=tests/cluster/gangs_claims.sh
. tests/cluster/gangs_claims.sh
kc delete node/four "deviceclass/$driver" "resourceslice/four-$$" >/dev/null
kc delete namespace $ns yunikorn --wait=false >/dev/null
finish
