#!/bin/bash
# Gangs with the schedulers that place them: scheduler-plugins' and YuniKorn's, as processes. The
# node is an object with room for four pods; what a kubelet would report is written into the
# pods' status. Volcano is not run: its own types read our PodGroups.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
rounds=${KFT_GANG_ROUNDS:-20}
cluster_up
schedulers=$(tests/cluster/schedulers.sh 2>"$scratch/build") || {
	check "the schedulers are built" eval 'cat "$scratch/build"; false'
	finish
}
ns=gangs-$$
kt() { kc -n $ns "$@"; }
kc create namespace $ns >"$scratch/namespace"
check "the controller starts" controller_up

# ---- a node with room for four -------------------------------------------------------------------
now() { date -u +%FT%T.000000Z; }
beat() { # as long as the file is there, at most thirty minutes
	local end=$((SECONDS + 1800))
	while [ -e "$scratch/beats" ] && [ $SECONDS -lt $end ]; do
		kc -n kube-node-lease patch lease four --type merge -p "{\"spec\":{\"renewTime\":\"$(now)\"}}" >/dev/null 2>&1
		sleep 4
	done
}
node_up() {
	kc apply -f - <<-END >/dev/null || return 1
		apiVersion: v1
		kind: Node
		metadata: {name: four, labels: {kubernetes.io/hostname: four, pool: $ns}}
		---
		apiVersion: coordination.k8s.io/v1
		kind: Lease
		metadata: {name: four, namespace: kube-node-lease}
		spec: {holderIdentity: four, leaseDurationSeconds: 40, renewTime: "$(now)"}
	END
	local size='"cpu":"4","memory":"8Gi","pods":"20"'
	kc patch node four --subresource status -p "{\"status\":{\"capacity\":{$size},\"allocatable\":{$size},
		\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"KubeletReady\",
		\"lastHeartbeatTime\":\"$(date -u +%FT%TZ)\",\"lastTransitionTime\":\"$(date -u +%FT%TZ)\"}]}}" >/dev/null &&
		wait_for 30 eval '! kc get node four -o jsonpath={.spec.taints} | grep -q .'
}
: >"$scratch/beats"
beat &
check "a node has room for four pods" node_up

# ---- the schedulers ------------------------------------------------------------------------------
# Killed with the cluster, as all that runs in its namespace is.
coscheduling_up() {
	cat >"$scratch/coscheduling.yaml" <<-END
		apiVersion: kubescheduler.config.k8s.io/v1
		kind: KubeSchedulerConfiguration
		leaderElection: {leaderElect: false}
		clientConnection: {kubeconfig: $cluster_state/admin.kubeconfig, qps: 500, burst: 1000}
		profiles:
		- schedulerName: scheduler-plugins
		  plugins:
		    multiPoint: {enabled: [{name: Coscheduling}]}
		    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
		  pluginConfig:
		  - {name: Coscheduling, args: {permitWaitingTimeSeconds: 10}}
	END
	in_cluster setsid -f "$schedulers/scheduler" --config "$scratch/coscheduling.yaml" --secure-port 0 \
		>"$scratch/coscheduling.log" 2>&1 </dev/null
	in_cluster setsid -f "$schedulers/controller" --metricsAddr 127.0.0.1:8095 --probeAddr 127.0.0.1:8096 \
		>"$scratch/podgroups.log" 2>&1 </dev/null
}
yunikorn_up() {
	kc apply -f - <<-END >/dev/null || return 1
		apiVersion: v1
		kind: Namespace
		metadata: {name: yunikorn}
		---
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: yunikorn-configs, namespace: yunikorn}
		data:
		  queues.yaml: |
		    partitions:
		    - name: default
		      queues:
		      - name: root
		        submitacl: "*"
		        queues: [{name: gangs, maxapplications: 1}]
	END
	in_cluster env NAMESPACE=yunikorn setsid -f "$schedulers/shim" >"$scratch/yunikorn.log" 2>&1 </dev/null
}

# ---- jobs ----------------------------------------------------------------------------------------
runtime() { # NAME SCHEDULER POLICY [JOBS-BEFORE [OF-THE-NODES]]
	kt apply -f - <<-END >/dev/null
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: $1}
		spec:
		  mlPolicy: {numNodes: 3}
		  ${3:-}
		  template: {spec: {replicatedJobs: [${4:-}{name: node, ${5:-} template: {
		    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		    spec: {backoffLimit: 0, template: {spec: {schedulerName: $2,
		      containers: [{name: node, image: i, resources: {requests: {cpu: 1}}}]}}}}}]}}
	END
}
job() { # NAME RUNTIME [QUEUE]
	cat <<-END
		---
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1, labels: {queue: "${3:-}"}}
		spec: {runtimeRef: {kind: TrainingRuntime, name: $2}}
	END
}
bound() { # JOB [STEP]: how many of its pods have a node
	kt get pods -l "jobset.sigs.k8s.io/jobset-name=$1${2:+,jobset.sigs.k8s.io/replicatedjob-name=$2}" \
		-o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' | grep -c four
}
succeed() { # JOB [STEP]
	report_pods $ns "jobset.sigs.k8s.io/jobset-name=$1${2:+,jobset.sigs.k8s.io/replicatedjob-name=$2}" '{"phase":"Succeeded"}'
}
complete() { kt wait "trainjob/$1" --for=condition=Complete --timeout=5s; }
gone() { # JOB...
	kt delete trainjob "$@" --wait=false >/dev/null
	wait_for 30 eval "kt delete pods --all --grace-period=0 --force --wait=false; ! kt get pods -o name | grep ."
}

# One of both has three pods placed and the other none: $first and $second.
one_runs() {
	local a b
	a=$(bound a$n) b=$(bound b$n)
	echo "a$n: $a, b$n: $b"
	[ "$a" = 0 ] || [ "$b" = 0 ] || { echo mixed >"$scratch/mixed"; return 0; }
	[ "$a" = 3 ] && { first=a$n second=b$n; return; }
	[ "$b" = 3 ] && { first=b$n second=a$n; return; }
	return 1
}
all_placed() { [ "$(bound "$1")" = 3 ]; }
# The scheduler of scheduler-plugins tries a waiting gang again when a pod is added or a PodGroup
# changes, not when pods end; nothing else happens in this cluster.
placed_next() { # JOB
	kt annotate podgroups.scheduling.x-k8s.io "$1" "test/again=$SECONDS" --overwrite >/dev/null 2>&1
	all_placed "$1"
}

two_gangs() { # RUNTIME
	first='' second=''
	{ job a$n "$1" root.gangs && job b$n "$1" root.gangs; } | kt create -f - >/dev/null || return 1
	wait_for 60 one_runs || return 1
	[ ! -e "$scratch/mixed" ] && [ "$(bound "$second")" = 0 ] || {
		cat "$scratch/wait"
		return 1
	}
	succeed "$first" && wait_for 30 complete "$first" || return 1
	wait_for 60 placed_next "$second" || return 1
	succeed "$second" && wait_for 30 complete "$second" && gone a$n b$n
}
rounds_of() { # ROUNDS RUNTIME
	for ((n = 1; n <= $1; n++)); do
		two_gangs "$2" || {
			echo "round $n of $1"
			kt get pods -o wide
			return 1
		}
	done
}

# ---- scheduler-plugins ---------------------------------------------------------------------------
check "the scheduler of scheduler-plugins starts" coscheduling_up
runtime plugins scheduler-plugins 'podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 10}}'
check "coscheduling: of two jobs of three one runs, then the other, $rounds times" rounds_of "$rounds" plugins

initializer() { # NAME
	echo "{name: $1, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: $1}},
		spec: {template: {spec: {schedulerName: scheduler-plugins, containers: [{name: $1, image: i, resources: {requests: {cpu: 1}}}]}}}}}, "
}
runtime steps scheduler-plugins 'podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 10}}' \
	"$(initializer dataset-initializer)$(initializer model-initializer)" \
	'dependsOn: [{name: dataset-initializer, status: Complete}, {name: model-initializer, status: Complete}],'
with_steps() {
	job steps steps | kt create -f - >/dev/null || return 1
	for step in dataset-initializer model-initializer; do
		wait_for 60 eval "[ \"\$(bound steps $step)\" = 1 ]" && succeed steps $step || return 1
	done
	wait_for 60 eval '[ "$(bound steps node)" = 3 ]' && succeed steps node && wait_for 30 complete steps && gone steps
}
check "coscheduling: two initializers, then the gang" with_steps

# ---- YuniKorn ------------------------------------------------------------------------------------
check "YuniKorn starts" yunikorn_up
runtime yunikorn yunikorn
check "YuniKorn: of two jobs of three one runs, then the other, one at a time in their queue" rounds_of 2 yunikorn

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
        print(json.dumps(o))' | "$schedulers/volcano" >"$scratch/volcano" || return 1
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
unknown() { echo '{"spec":{"minMembers":3}}' | "$schedulers/volcano"; }
check "... they know no other" eval '! unknown'
rm -f "$scratch/beats"
kc delete node four >/dev/null
kc delete namespace $ns yunikorn --wait=false >/dev/null
finish
