# lib.sh - for the tests with real nodes: tests/cluster/lib.sh, and a cluster of two nodes on
# which the controller runs as a pod from our own image, as `kftrainer install` puts it there.
#
#   . "$(dirname "$0")/lib.sh"
#   e2e_up                              # or: e2e_shared, e2e_last; the rest of the test has namespace $ns
#   check "a job is taken" train one "$(sh 2 'echo hello')"
#   check "and completes" becomes one Complete
#   finish
#
# KFT_CLUSTER=NAME uses the cluster of that name, if it runs with its nodes, and leaves it.
# A test that takes a node away sets gone_after, and exports KFT_NODE_GRACE, before: the seconds
# that pods stay on a node which is gone, and after which it counts as that.
# shellcheck shell=bash disable=SC2034 # tests use what is set here
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cluster/lib.sh"
ns=e2e-$$
image=kft.local/torch:1

node() { tests/e2e/node.sh "$cluster_name" "$@"; } # I ACTION...
k() { kc -n $ns "$@"; }

# Of a test that was killed a cluster may be left.
e2e_tidy() {
	local dir name i
	for dir in "${KFT_CLUSTERS:-build/clusters}"/e2e*/; do
		name=$(basename "$dir")
		[[ $name =~ ^e2e[0-9]+$ && ! -e /proc/${name#e2e} ]] || continue
		for i in 1 2; do tests/e2e/node.sh "$name" $i down; done
		tests/cluster/cluster.sh "$name" down
	done
}

# For a test that loses no node: the next such test of this lane gets the same cluster (tests/shared.sh).
# What this one makes outside of $ns it takes away. After a failure, or half a test, it is not used again.
e2e_shared() {
	shared=$(lane_cluster)
	e2e_up
}
# The same, but what it makes outside of $ns stays: the cluster ends with it.
e2e_last() {
	last=1
	e2e_shared
}

e2e_up() {
	[ "$(id -u)" = 0 ] || {
		skip "$(basename "$0")" "nodes take root"
		finish
	}
	e2e_tidy
	cluster_up "${shared:-e2e$$}"
	at_exit e2e_down
	tests/e2e/images.sh >/dev/null 2>"$scratch/images" || {
		check "the images are made" eval 'cat "$scratch/images"; false'
		finish
	}
	check "two nodes come up" nodes_up
	check "the controller runs on them, from our image" controller_on_nodes
	[ "$failures" = 0 ] || finish
	kc create namespace $ns >/dev/null 2>&1
	wait_for 30 k get serviceaccount default >/dev/null
	runtimes | k apply -f - >/dev/null 2> >(grep -v "^Warning: .*Open MPI 5" >&2)
}

nodes_up() {
	local pids=() i pid ret=0
	for i in 1 2; do
		node $i up &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid" || ret=1; done
	return $ret
}

controller_on_nodes() {
	local version i sum
	sum=$(sha256sum <"$kftrainer")
	[ "$(cat "$cluster_state/controller" 2>/dev/null)" != "$sum" ] || return 0
	cp "$kftrainer" "$scratch/kftrainer"
	version=$("$scratch/kftrainer" version | awk 'NR == 1 { print $2 }')
	# An index of two processors, as releases have it; what is for Arm here is no more than its first bytes.
	{ printf '\x7fELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\xb7\0' && head -c 100 /dev/zero; } >"$scratch/arm"
	vendor/image.py "$scratch/kftrainer,$scratch/arm" "$version" "$scratch/image.tar" || return 1
	for i in 1 2; do node $i import "$scratch/image.tar" || return 1; done
	kc delete pods -n "$trainer_ns" -l app.kubernetes.io/component=manager 2>/dev/null # of an older image
	in_cluster "$scratch/kftrainer" install --strict-rbac --feature-gates TrainJobStatus=true --wait --timeout 600s &&
		echo "$sum" >"$cluster_state/controller"
}

# A server where pods reach it as they would another host, at $cluster_ip. Its output is $scratch/NAME.log, its process
# group in NAME.pid beside it. It ends with the test, for the next test of the lane may have the same port.
serve() { # NAME COMMAND...
	in_cluster setsid bash -c 'echo $$ >"$0"; exec "$@"' "$scratch/$1.pid" "${@:2}" >"$scratch/$1.log" 2>&1 </dev/null &
}
signal_server() { kill -s "$1" -- "-$(cat "$scratch/$2.pid")"; } # SIGNAL NAME
serve_s3() { # ARGUMENT...: of versitygw; its bucket is empty
	mkdir -p "$scratch/s3/bucket"
	serve s3 env ROOT_ACCESS_KEY=key ROOT_SECRET_KEY=secretsecret "$(tests/store/versitygw.sh)" --port "$cluster_ip:7070" --quiet "$@" posix "$scratch/s3"
}
# Credentials of its bucket: of this shell, and the Secret place of $ns.
place() {
	export ENDPOINT=http://$cluster_ip:7070 REGION=us-east-1 ACCESS_KEY_ID=key SECRET_ACCESS_KEY=secretsecret
	k create secret generic place --from-literal=ACCESS_KEY_ID=key --from-literal=SECRET_ACCESS_KEY=secretsecret \
		--from-literal=ENDPOINT="$ENDPOINT" --from-literal=REGION=us-east-1 >/dev/null
}
# kftrainer as a user of the cluster, who reaches that bucket
on_cluster() { in_cluster env KUBECONFIG="$cluster_state/admin.kubeconfig" timeout 120 "$kftrainer" "$@"; }
serve_mlflow() { # at $cluster_ip:7090; it starts within two minutes
	local python
	python=$(tests/setup.sh venv registry)/bin/python
	serve mlflow env HOME="$scratch" MLFLOW_DISABLE_TELEMETRY=true MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false "$python" -m mlflow server \
		--host "$cluster_ip" --port 7090 --allowed-hosts '*' --workers 1 --backend-store-uri "sqlite:///$scratch/mlflow.db" --artifacts-destination "$scratch/artifacts"
}

e2e_down() {
	local i server
	for server in "$scratch"/*.pid; do [ ! -e "$server" ] || kill -KILL -- "-$(cat "$server")" 2>/dev/null; done
	[ "$failures" = 0 ] || e2e_tell | sed 's/^/# /'
	[ "${KFT_CLUSTER:-}" != "$cluster_name" ] || return 0
	! cluster_stays || ! kc delete namespace $ns --timeout=600s >/dev/null || return 0
	for i in 1 2; do node $i down; done
	cluster down
}

e2e_tell() {
	kc get trainjobs,jobsets,jobs,pods,nodes -A -o wide
	kc get events -A --sort-by=.metadata.creationTimestamp | tail -n 60
	kc logs -n "$trainer_ns" -l app.kubernetes.io/component=manager --prefix --tail 40
}

# ---- jobs ----------------------------------------------------------------------------------------

# Of runtimes sh and torch a pod that ends with an error ends the job, of retry it is replaced.
# Pods leave a lost node after 2 seconds, not 5 minutes.
runtimes() {
	runtime sh 0
	runtime retry 6
	runtime torch 0 torch
	cat <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: mpi, labels: {trainer.kubeflow.org/framework: mpi}}
		spec:
		  mlPolicy: {numNodes: 2, mpi: {mpiImplementation: OpenMPI}}
		  template:
		    spec:
		      replicatedJobs:
		      - name: launcher
		        template:
		          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
		          spec:
		            template:
		              spec:
		                terminationGracePeriodSeconds: 2
		                containers: [{name: node, image: $image}]
		      - name: node
		        template:
		          spec:
		            template:
		              spec:
		                terminationGracePeriodSeconds: 2
		                containers: [{name: node, image: $image, command: [sleep, "600"]}]
	END
}

runtime() { # NAME BACKOFFLIMIT [POLICY]
	cat <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: $1, labels: {trainer.kubeflow.org/framework: ${3:-plainml}}}
		spec:
		  mlPolicy: {numNodes: 1${3:+, $3: {\}}}
		  template:
		    spec:
		      replicatedJobs:
		      - name: node
		        template:
		          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
		          spec:
		            backoffLimit: $2
		            template:
		              spec:
		                restartPolicy: Never
		                terminationGracePeriodSeconds: 2
		                tolerations:
		                - {operator: Exists, effect: NoExecute, tolerationSeconds: ${gone_after:-300}}
		                containers: [{name: node, image: $image}]
		---
	END
}

# Runtime stack: what people train with today, which pods mount from this machine; each on a node of its own if there is one.
stack_runtime() { # [BACKOFFLIMIT]; after stack_venv
	k apply -f - >/dev/null <<-END
	apiVersion: trainer.kubeflow.org/v1alpha1
	kind: TrainingRuntime
	metadata: {name: stack, labels: {trainer.kubeflow.org/framework: torch}}
	spec:
	  mlPolicy: {numNodes: 2, torch: {}}
	  template: {spec: {replicatedJobs: [{name: node, template: {
	    metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
	    spec: {${1:+backoffLimit: $1, }template: {spec: {restartPolicy: Never, terminationGracePeriodSeconds: ${grace:-2},
	      tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: ${gone_after:-300}}],
	      affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {
	        topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}}]}},
	      volumes: [{name: stack, hostPath: {path: "/opt/cache/${venv##*/}", type: Directory}}],
	      containers: [{name: node, image: $image, env: [{name: PATH, value: "$venv/bin:/usr/bin:/bin"}, {name: OMP_NUM_THREADS, value: '1'}],
	        volumeMounts: [{name: stack, mountPath: "$venv", readOnly: true}]}]}}}}}]}}
	END
}
rank_pod() { pods "$1" '{range .items[?(@.status.phase=="Running")]}{.metadata.name}{"\n"}{end}' | grep -- "-node-0-$2-"; } # NAME RANK

# Runtime strict: pods with a random user, a root that cannot be written, and no capability.
strict_runtime() {
	local c='runAsUser: 1234567, runAsGroup: 0, runAsNonRoot: true, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}'
	runtime strict 6 torch | sed "s|image: $image}|image: $image, securityContext: {$c}}|" | k apply -f - >/dev/null
}

keys=/home/mpiuser/.ssh
sshd="[/usr/sbin/sshd, -De, -f, /dev/null, -p, '2222', -h, $keys/id_rsa, -o, StrictModes=no, -o, PidFile=none, -o, AuthorizedKeysFile=$keys/authorized_keys]"
# The shape of upstream's runtime for DeepSpeed: nodes run sshd, unless the TRANSPORT is worker. '': without
# the annotation, as upstream has it, mpirun calls the image's ssh.
mpi_runtime() { # KIND NAME TRANSPORT LAUNCHER-IS-NODE [POD [CONTAINER [NODE-COMMAND [DEPENDS]]]]
	local pod=${5:-securityContext: {fsGroup: 1000\}} c=${6:-securityContext: {runAsUser: 1000\}} command=${7:-$sshd}
	local depends=${8-"dependsOn: [{name: node, status: Ready}],"}
	cat <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: $1
		metadata: {name: $2, labels: {trainer.kubeflow.org/framework: mpi}}
		spec:
		  mlPolicy: {numNodes: 1, mpi: {runLauncherAsNode: $4, sshAuthMountPath: $keys}}
		  template:
		    ${3:+metadata: {annotations: {kftrainer.io/mpi: $3\}\}}
		    spec:
		      network: {publishNotReadyAddresses: true}
		      successPolicy: {operator: All, targetReplicatedJobs: [launcher]}
		      replicatedJobs:
		      - name: node
		        template: {spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, terminationGracePeriodSeconds: 2, $pod,
		          containers: [{name: node, image: $image, $c, command: $command, readinessProbe: {tcpSocket: {port: 2222}, periodSeconds: 1}}]}}}}
		      - {name: launcher, $depends template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		          spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, terminationGracePeriodSeconds: 2, $pod,
		          containers: [{name: node, image: $image, $c}]}}}}}
		---
	END
}

# Prints a spec: bash runs COMMAND on so many NODES, in runtime $runtime, or sh. TRAINER: more
# of spec.trainer.
sh() { # NODES COMMAND [TRAINER]
	local command=${2//\\/\\\\}
	echo "{runtimeRef: {kind: TrainingRuntime, name: ${runtime:-sh}}, trainer: {numNodes: $1, command: [bash, -c, \"${command//\"/\\\"}\"]${3:+, $3}}}"
}
# For a COMMAND: until the test says `go`, or the pod is ended.
until_go='trap "exit 143" TERM; until [ -e /tmp/go ]; do sleep 0.2; done'

train() { # NAME SPEC
	k apply -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1}
		spec: $2
	END
}
of() { k get trainjob "$1" -o "jsonpath={$2}"; } # NAME PATH
becomes() { # NAME CONDITION[=STATUS]
	k wait --for=condition="$2" "trainjob/$1" --timeout=600s || {
		k describe "trainjob/$1"
		return 1
	}
}
pods() { k get pods -l "jobset.sigs.k8s.io/jobset-name=$1" -o "jsonpath=${2:-{.items[*].metadata.name\}}"; } # NAME [PATH]
# run NAME N: so many of its pods run
run() { wait_for 120 eval "[ \$(pods $1 '{.items[*].status.phase}' | grep -o Running | wc -l) = $2 ]"; }
# A connection to a kubelet may break after the file is there: then the pod is about to end.
go_on() { k exec "$1" -- touch /tmp/go || [ "$(k get pod "$1" -o 'jsonpath={.status.phase}')" = Succeeded ]; }
go() { # NAME: for all its pods
	local names pod
	names=$(pods "$1") && [ -n "$names" ] || return 1
	for pod in $names; do wait_for 20 go_on "$pod" || return 1; done
}
logs() { # NAME: of all its pods
	local pod
	for pod in $(pods "$1"); do k logs "$pod"; done
}
# The events of a TrainJob, a line each: REASON MESSAGE
events() {
	k get events --field-selector "involvedObject.kind=TrainJob,involvedObject.name=$1" \
		-o 'jsonpath={range .items[*]}{.reason} {.message}{"\n"}{end}'
}
tells() { # NAME LIKE: an event of its says
	wait_for 60 told "$@" && return
	events "$1"
	return 1
}
told() { events "$1" | grep -E -e "$2"; }

# make_user FILE: makes the service account `user`, and its kubeconfig in FILE.
make_user() {
	local token
	k create serviceaccount user >/dev/null
	token=$(k create token user)
	kc config view --raw --minify | python3 -c '
import re, sys
print(re.sub(r"(?s)(\n- name: [^\n]*\n  user:\n).*", r"\1    token: " + sys.argv[1] + "\n", sys.stdin.read()))
' "$token" >"$1"
}
# allow_exec VERBS: lets `user` read jobs and pods, and do VERBS with pods/exec; none: not that.
allow_exec() {
	k delete role,rolebinding user --ignore-not-found >/dev/null
	k apply -f - <<-END >/dev/null
		apiVersion: rbac.authorization.k8s.io/v1
		kind: Role
		metadata: {name: user}
		rules:
		- {apiGroups: [trainer.kubeflow.org], resources: [trainjobs], verbs: [get]}
		- {apiGroups: [""], resources: [pods], verbs: [get, list]}
		$([ -z "$1" ] || echo "- {apiGroups: [''], resources: [pods/exec], verbs: [$1]}")
		---
		apiVersion: rbac.authorization.k8s.io/v1
		kind: RoleBinding
		metadata: {name: user}
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: user}
		subjects: [{kind: ServiceAccount, name: user}]
	END
}
