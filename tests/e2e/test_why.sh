#!/bin/bash
# `kftrainer why JOB` on two real nodes: what only containers can do wrong. The other causes are
# in tests/cluster/test_why.sh, a lost node in test_node.sh.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_shared

says() { wait_for 90 why_says "$@"; }
special() { # NAME POD-SPEC [RESTARTPOLICY]
	k apply -f - <<-END >/dev/null
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: $1, labels: {trainer.kubeflow.org/framework: plain}}
		spec:
		  mlPolicy: {numNodes: 1}
		  template: {spec: {replicatedJobs: [{name: node, template: {
		    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		    spec: {backoffLimit: ${4:-0}, template: {spec: {restartPolicy: ${3:-Never}, terminationGracePeriodSeconds: 2,
		      containers: [{name: node, image: $image${5:+, $5}}], $2}}}}}]}}
	END
}

# ---- all at once, for they wait for different things ---------------------------------------------
python() { echo "exec python3 -c '$1'"; }
check "an image that is not there" train noimage "$(sh 2 true 'image: "kft.local/absent:1"')"
check "too much memory" train oom "$(sh 1 'exec python3 -c "b = bytearray(1 << 30)"' 'resourcesPerNode: {limits: {memory: 64Mi}}')"
check "an exception on one rank" train raises "$(sh 2 "[ \$JOB_COMPLETION_INDEX = 1 ] || { $until_go; }; $(python 'raise ValueError("boom")')")"
check "an exit code, and last words" train words "$(sh 1 "echo the last line; echo last words >/dev/termination-log; exit 7")"
check "a signal" train segv "$(sh 1 "$(python 'import ctypes; ctypes.string_at(0)')")"
check "a command that is not there" train nocommand "{runtimeRef: {kind: TrainingRuntime, name: sh}, trainer: {command: [trian]}}"
check "a Secret that is not there" train nosecret "$(sh 1 true 'env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: absent, key: token}}}]')"
check "a ConfigMap that is not there" train noconfig "$(sh 1 true 'env: [{name: X, valueFrom: {configMapKeyRef: {name: absent, key: x}}}]')"
special volume 'volumes: [{name: v, configMap: {name: absent}}]' Never 0 'volumeMounts: [{name: v, mountPath: /v}]'
check "a volume that is not there" train novolume "$(runtime=volume sh 1 true)"
special slow "initContainers: [{name: fetch, image: $image, command: [sleep, '600']}]"
check "an init container that takes its time" train slow "$(runtime=slow sh 1 true)"
special broken "initContainers: [{name: fetch, image: $image, command: [bash, -c, 'echo no such file >&2; exit 4']}]"
check "an init container that fails" train broken "$(runtime=broken sh 1 true)"
special loop 'volumes: []' OnFailure 100
check "a rank that fails again and again" train loop "$(runtime=loop sh 1 "sleep 1; $(python 'raise KeyError("weights")')")"
store() { python "import torch.distributed as d, datetime; d.TCPStore(\"$1-node-0-1.$1\", 29500, 2, False, datetime.timedelta(seconds=$2))"; }
seeks() { sh 2 "[ \$JOB_COMPLETION_INDEX = 0 ] || { $until_go; }; while sleep 1; do python3 -c 'import socket; socket.create_connection((\"$1-node-0-1.$1\", 29500))'; done"; }
check "ranks that do not find each other" train peers "$(sh 2 "[ \$JOB_COMPLETION_INDEX = 0 ] || { $until_go; }; $(store peers 15)")"
check "ranks that seek each other" train seeks "$(seeks seeks)"
check "a job that runs in order" train fine "$(sh 2 "$until_go")"
check "one that reports its progress" train reports "$(sh 1 "python3 /e2e/report.py 40; $until_go")"
data='{name: dataset-initializer, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}},
  spec: {template: {spec: {restartPolicy: Never, containers: [{name: dataset-initializer, image: "'$image'", command: [sleep, "600"]}]}}}}}'
k apply -f - <<-END >/dev/null
	apiVersion: trainer.kubeflow.org/v1alpha1
	kind: TrainingRuntime
	metadata: {name: data, labels: {trainer.kubeflow.org/framework: plain}}
	spec:
	  mlPolicy: {numNodes: 1}
	  template: {spec: {replicatedJobs: [$data, {name: node, dependsOn: [{name: dataset-initializer, status: Complete}], template: {
	    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
	    spec: {template: {spec: {restartPolicy: Never, containers: [{name: node, image: $image}]}}}}}]}}
END
check "a job whose data come first" train data "$(runtime=data sh 1 true)"

# ---- pods that do not start ----------------------------------------------------------------------
check "... the image, for how many pods, where" says noimage \
	'^noimage is pending: the image kft.local/absent:1 cannot be pulled for its 2 pods, container node of node-[01] \(node rank [01]\) on node n[12]: .*\((ErrImagePull|ImagePullBackOff)\)' \
	"kubectl describe pod noimage-node-0-[01]-.* -n $ns"
check "... the Secret" says nosecret '^nosecret is pending: container node of node-0 \(node rank 0\) on node n[12] has not started for .*: secret "absent" not found \(CreateContainerConfigError\)'
check "... the ConfigMap" says noconfig '^noconfig is pending: container node of node-0 .*: configmap "absent" not found \(CreateContainerConfigError\)'
check "... the volume" says novolume '^novolume is pending: node-0 \(node rank 0\) cannot start on node n[12]: a volume cannot be mounted: MountVolume.SetUp failed for volume "v" : configmap "absent" not found'
check "... the init container" says slow '^slow is pending: init container fetch of node-0 \(node rank 0\) has been running for .*; the others start after it' "kubectl logs slow-node-0-0-.* -c fetch -n $ns"
check "... the initializer" says data '^data is pending: its dataset-initializer, which must finish before its nodes start, has been running for ' "kftrainer logs data --step dataset-initializer -n $ns"

# ---- pods that failed ----------------------------------------------------------------------------
first='the first failure is that of'
check "... out of memory, with the limit" says oom "^oom has failed: $first node-0 \(node rank 0\), pod oom-node-0-0-.* on node n[12]: container node was killed for using more memory than its limit of 64Mi \(OOMKilled, exit code 137\)"
check "... the rank, its exit code, its exception" says raises "^raises has failed: $first node-1 \(node rank 1\), pod raises-node-0-1-.* on node n[12]: container node ended with exit code 1; its log says \"ValueError: boom\"" \
	"kubectl logs raises-node-0-1-.* -c node -n $ns"
check "... its last words and its last line" says words "^words has failed: .*ended with exit code 7; its message is \"last words\"; its log ends with \"the last line\""
check "... the signal" says segv '^segv has failed: .*ended with exit code 139 \(SIGSEGV\)'
check "... the command" says nocommand '^nocommand has failed: .*container node could not be started: .*trian.*(StartError|ContainerCannotRun)|^nocommand is pending: container node .* has not started .*trian'
check "... the init container" says broken "^broken has failed: .*: init container fetch ended with exit code 4; its log ends with \"no such file\""
check "... again and again" says loop '^loop is (pending|running): node-0 \(node rank 0\), pod loop-node-0-0-.*: container node ended with exit code 1, after [0-9]+ restarts?; its log says "KeyError: .weights.'
check "... connections" says peers '^peers has failed: .*container node ended with exit code 1; its log says ".*timed out.*" \(the ranks did not find each other in time'
check "... that are tried" says seeks '^seeks is running: the log of node-0 \(node rank 0\) reports a connection problem: ".*(failed to connect|Connection refused).*" \('

# ---- pods that run -------------------------------------------------------------------------------
check "... in order" says fine '^fine is running: no problem found: 2 of 2 pods have been running for .*; it reports no progress' "kftrainer logs fine"
check "... with progress" says reports '^reports is running: no problem found: 1 of 1 pods have been running for .*; 40 % done'
check "it goes on to its end" go fine
check "... and is complete" says fine '^fine completed '
k delete trainjobs --all --wait=false >/dev/null
finish
