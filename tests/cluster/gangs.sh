# gangs.sh - after lib.sh: the schedulers of gangs, a node with room for four pods that is an
# object, and jobs of three pods. What a kubelet would report is written into the pods' status.
# shellcheck shell=bash
kt() { kc -n $ns "$@"; }

# ---- nodes ---------------------------------------------------------------------------------------
export KFT_NODE_GRACE=3600 # the nodes have no kubelet; before cluster_up
node_up() { # NAME RESOURCES [SPEC]
	local now
	now=$(date -u +%FT%TZ)
	kc apply --server-side --force-conflicts -f - <<-END >/dev/null || return 1
		apiVersion: v1
		kind: Node
		metadata: {name: $1, labels: {kubernetes.io/hostname: $1, pool: $1}}
		spec: {${3:-}}
	END
	kc patch node "$1" --subresource status -p "{\"status\":{\"capacity\":{$2},\"allocatable\":{$2},
		\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"KubeletReady\",
		\"lastHeartbeatTime\":\"$now\",\"lastTransitionTime\":\"$now\"}]}}" >/dev/null &&
		wait_for 30 eval "! kc get node $1 -o jsonpath={.spec.taints[*].key} | grep -q node.kubernetes.io"
}

# ---- the schedulers ------------------------------------------------------------------------------
# Killed with the cluster, as all that runs in its namespace is.
coscheduling_up() {
	cat >"$scratch/coscheduling.yaml" <<-END
		apiVersion: kubescheduler.config.k8s.io/v1
		kind: KubeSchedulerConfiguration
		leaderElection: {leaderElect: false}
		clientConnection: {kubeconfig: $cluster_state/admin.kubeconfig, qps: 500, burst: 1000}
		podMaxBackoffSeconds: 1
		profiles:
		- schedulerName: scheduler-plugins
		  plugins:
		    multiPoint: {enabled: [{name: Coscheduling}]}
		    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
		  pluginConfig:
		  - {name: Coscheduling, args: {permitWaitingTimeSeconds: 10}}
	END
	in_cluster setsid -f coscheduling --config "$scratch/coscheduling.yaml" --secure-port 0 \
		>"$scratch/coscheduling.log" 2>&1 </dev/null
	in_cluster setsid -f controller --metricsAddr 127.0.0.1:8095 --probeAddr 127.0.0.1:8096 \
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
		  service.schedulingInterval: 100ms
		  queues.yaml: |
		    partitions:
		    - name: default
		      queues:
		      - name: root
		        submitacl: "*"
		        queues:
		        - {name: gangs, maxapplications: 1}
		        - {name: limited, resources: {max: {vcore: 4}}}
	END
	in_cluster env NAMESPACE=yunikorn setsid -f shim >"$scratch/yunikorn.log" 2>&1 </dev/null
}

# ---- jobs ----------------------------------------------------------------------------------------
runtime() { # NAME SCHEDULER POLICY [JOBS-BEFORE [OF-THE-NODES [POD [REQUESTS]]]]
	cat <<-END
		---
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: $1}
		spec:
		  mlPolicy: {numNodes: 3}
		  ${3:-}
		  template: {spec: {replicatedJobs: [${4:-}{name: node, ${5:-} template: {
		    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		    spec: {backoffLimit: 0, template: {spec: {schedulerName: $2, ${6:-}
		      containers: [{name: node, image: i, resources: {requests: {${7:-cpu: 1}}}}]}}}}}]}}
	END
}
job() { # NAME RUNTIME [QUEUE [TRAINER]]
	cat <<-END
		---
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1, labels: {queue: "${3:-}"}}
		spec: {runtimeRef: {kind: TrainingRuntime, name: $2}, trainer: {${4:-}}}
	END
}
bound() { # JOB [STEP]: how many of its pods have a node
	kt get pods -l "jobset.sigs.k8s.io/jobset-name=$1${2:+,jobset.sigs.k8s.io/replicatedjob-name=$2}" \
		-o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' | grep -c .
}
all_placed() { [ "$(bound "$1")" = 3 ]; }
succeed() { # JOB [STEP]
	report_pods $ns "jobset.sigs.k8s.io/jobset-name=$1${2:+,jobset.sigs.k8s.io/replicatedjob-name=$2}" '{"phase":"Succeeded"}'
}
ends_as() { # RANK PHASE: the pod of the job `again`
	report_pods $ns "jobset.sigs.k8s.io/jobset-name=again,batch.kubernetes.io/job-completion-index=$1" "{\"phase\":\"$2\"}"
}
complete() { kt wait "trainjob/$1" --for=condition=Complete --timeout=5s; }
# The nodes have no kubelet: what is being deleted has to be helped.
let_go() {
	kt get pods -o jsonpath='{range .items[?(@.metadata.deletionTimestamp)]}{.metadata.name}{"\n"}{end}' |
		xargs -r "${kubectl[@]}" -n $ns delete pod --grace-period=0 --force --wait=false
}
no_pods() { ! kt get pods -o name | grep .; }
gone() { # JOB...
	kt delete trainjob "$@" --wait=false >/dev/null
	wait_for 30 eval "kt delete pods --all --grace-period=0 --force --wait=false; ! kt get pods -o name | grep ."
}

# ---- what is seen --------------------------------------------------------------------------------
# One runs, then the other, so often; figures go to descriptor 3.
rounds_of() { # ROUNDS RUNTIME [POKE]
	in_cluster env "KFTRAINER=$kftrainer" "WAITING=its gang needs 3, room for 1 (cpu)" tests/cluster/gang_rounds.py $ns \
		"$2" "$1" "${3:-}" >"$scratch/rounds" 2>&1 || {
		cat "$scratch/rounds"
		kt get pods -o wide
		kt get "${group_kind:-podgroups}" -o yaml
		return 1
	}
	sed '/^round/d; s/^/# /' "$scratch/rounds" >&3
}
# The causes that `why` names, each a line: REASON:MESSAGE.
causes() { # JOB
	in_cluster "$kftrainer" why -n $ns "$1" -o json >"$scratch/why.json" && python3 -c '
import json, sys
print(*[c["reason"] + ":" + c["message"] for c in json.load(open(sys.argv[1]))["causes"]], sep="\n")' "$scratch/why.json" >"$scratch/causes" &&
		cat "$scratch/causes"
}
says_first() { causes "$1" && head -n 1 "$scratch/causes" | grep -qE "^$2"; }                             # JOB REGEX
says_only() { causes "$1" && [ "$(wc -l <"$scratch/causes")" = 1 ] && grep -qE "^$2" "$scratch/causes"; } # JOB REGEX
