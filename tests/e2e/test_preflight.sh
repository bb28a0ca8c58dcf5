#!/bin/bash
# `kftrainer preflight` as an init container on two nodes without a GPU: nothing is wrong unless the
# job wants one, and then why and the events say what failed, and on which node.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_shared
program=$(kc get pods -n "$trainer_ns" -l app.kubernetes.io/component=manager -o 'jsonpath={.items[0].spec.containers[0].image}')

checked() { # NAME ARGS: each of two pods on a node of its own
	k apply -f - <<-END >/dev/null
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: $1, labels: {trainer.kubeflow.org/framework: plain}}
		spec:
		  mlPolicy: {numNodes: 2}
		  template: {spec: {replicatedJobs: [{name: node, template: {
		    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		    spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, terminationGracePeriodSeconds: 2,
		      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname,
		        labelSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: $1}}}]}},
		      initContainers: [{name: preflight, image: "$program", args: [preflight, $2]}],
		      containers: [{name: node, image: $image}]}}}}}]}}
	END
	runtime=$1 train "$1" "$(runtime=$1 sh 2 'echo trained')"
}
rows() { # JOB: of all its pods, with their node
	local pod
	for pod in $(pods "$1"); do
		k logs "$pod" -c preflight | sed "s/^/$(k get pod "$pod" -o 'jsonpath={.spec.nodeName}') /"
	done >"$scratch/rows"
	cat "$scratch/rows"
}
passed() {
	rows free && [ "$(grep -c '"check":"devices".*"result":"pass".*no NVIDIA GPU' "$scratch/rows")" = 2 ] &&
		grep -q '^n1 ' "$scratch/rows" && grep -q '^n2 ' "$scratch/rows"
}
exits() { pods gpus '{.items[*].status.initContainerStatuses[*].state.terminated.exitCode}' | grep -qx '30\( 30\)*'; }
told() {
	in_cluster "$kftrainer" events -n $ns gpus >"$scratch/events"
	grep -E "node gpus-node-0-[01].*no NVIDIA GPU" "$scratch/events" || { cat "$scratch/events"; return 1; }
}

annotated() { # NAME MODE SHM: each of two pods on a node of its own, with a volume and memory
	k apply -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: $1, labels: {trainer.kubeflow.org/framework: plain}}
		spec:
		  mlPolicy: {numNodes: 2}
		  template: {spec: {replicatedJobs: [{name: node, template: {
		    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		    spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, terminationGracePeriodSeconds: 2,
		      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname,
		        labelSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: $1}}}]}},
		      containers: [{name: node, image: $image, resources: {limits: {memory: 64Mi}},
		        volumeMounts: [{name: work, mountPath: /work}, {name: shm, mountPath: /dev/shm}]}],
		      volumes: [{name: work, emptyDir: {}}, {name: shm, emptyDir: {medium: Memory, sizeLimit: $3}}]}}}}}]}}
		---
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1, annotations: {kftrainer.io/preflight: $2}}
		spec: $(runtime=$1 sh 2 'echo trained')
	END
}
each_has() { # JOB LINE...: in the logs of both pods
	local job=$1 line
	shift
	rows "$job"
	for line; do
		[ "$(grep -c "$line" "$scratch/rows")" = 2 ] || return 1
	done
}

check "a job that wants no GPU" checked free '"-o", json'
check "one that wants one" checked gpus '"--gpus", "1"'
check "without a GPU, none is wanted: the job completes" becomes free Complete
check "... and each node has its line" passed
check "one is wanted: the job fails" becomes gpus Failed
check "... by exit code 30" exits
check "... why says what the check said, and where" why_says gpus \
	'^gpus has failed: .*node rank [01].* on node n[12]: init container preflight ended with exit code 30; its message is "node gpus-node-0-[01]: GPUs: devices: no NVIDIA GPU'
check "... and so do the events" wait_for 30 told
# kftrainer.io/preflight, by the nodes' own names and network.
check "annotated jobs" eval 'annotated good enforce 16Mi && annotated small enforce 1Gi && annotated warned warn 1Gi'
check "nodes and links that are good: the job completes" becomes good Complete
check "... each node has a line for each check" each_has good 'pass *mounts *-\? */work' 'pass *shm' 'pass *names' 'pass *ports' 'pass *links' 'pass *clocks'
check "/dev/shm is smaller than was asked: the job fails" becomes small Failed
check "... why says it" why_says small 'node small-node-0-[01]: /dev/shm: shm: /dev/shm is smaller than was asked'
check "... but with warn it completes" becomes warned Complete
check "... and its log says it" each_has warned 'fatal *shm'
k delete trainjobs --all --wait=false >/dev/null
finish
