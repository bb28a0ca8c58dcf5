#!/bin/bash
# Admission by the real API server: what is refused, admitted with a warning, or left to the
# schema; and what the port does with those who are no API server.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
cluster_shared
check "the webhooks answer" controller_up
ns=admission-$$
api=trainer.kubeflow.org/v1alpha1
kc create namespace $ns >/dev/null

runtime() { # KIND NAME LABELS [CONTAINER [LIMITS]]
	cat <<-YAML
		apiVersion: $api
		kind: $1
		metadata: {name: $2, labels: {$3}}
		spec:
		  mlPolicy: {torch: {}}
		  template:
		    spec:
		      replicatedJobs:
		      - name: node
		        template:
		          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
		          spec: {template: {spec: {containers: [{name: ${4:-node}, image: i, resources: {limits: {${5:-}}}}]}}}
	YAML
}
trainjob() { # NAME [SPEC]
	cat <<-YAML
		apiVersion: $api
		kind: TrainJob
		metadata: {name: $1}
		spec: {runtimeRef: {name: rt, kind: TrainingRuntime}, suspend: true${2:+, $2}}
	YAML
}
patches='runtimePatches: [{manager: a.b/c, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: JOB, template: {spec: {template: {spec: {nodeSelector: {a: b}}}}}}]}}}}]'
put() { kc apply -n $ns -f - 2>&1; }
said() { tee "$scratch/said" | grep -e "$1" || { cat "$scratch/said"; return 1; }; }
merge() { kc patch trainjob "$1" -n $ns --type merge -p "$2" 2>&1; }
warns() { put | said "^Warning: .*$1"; }
silent() { put >"$scratch/said" && ! grep Warning "$scratch/said" || { cat "$scratch/said"; return 1; }; }
refuses() { ! put >"$scratch/out" && said "denied the request: $1" <"$scratch/out"; }
old='trainer.kubeflow.org/support: deprecated'
sdk='trainer.kubeflow.org/framework: torch'

check "a runtime" silent < <(runtime TrainingRuntime rt '')
check "a deprecated runtime warns" warns deprecated < <(runtime TrainingRuntime old "$old")
check "a deprecated cluster's runtime warns" warns deprecated < <(runtime ClusterTrainingRuntime "old-$$" "$old")
check "a runtime that the SDK cannot read warns" warns 'list_runtimes() .* name none of' < <(runtime TrainingRuntime amd "$sdk" node "amd.com/gpu: '1'")
check "and one that it reads wrongly" warns 'as a string' < <(runtime TrainingRuntime number "$sdk" node 'cpu: 2')
check "but not one that is not for it" silent < <(runtime TrainingRuntime no-sdk '' node "amd.com/gpu: '1'")
mpi() { runtime TrainingRuntime "$@" node "cpu: '1'" | sed "s/torch: {}/mpi: {}/"; }
check "Open MPI that does not find its nodes warns" warns 'spec.mlPolicy.mpi: .*kftrainer.io/mpi' < <(mpi mpi "$sdk")
by() { sed "s|^  template:|&\n    metadata: {annotations: {kftrainer.io/mpi: $1}}|"; }
check "but not with our agent" silent < <(mpi mpi-ssh "$sdk" | by ssh)
check "an agent that does not exist is refused" refuses 'spec.template.metadata.annotations: .*neither ssh nor worker' < <(mpi mpi-sshd '' | by sshd)
check "Intel MPI is stored" silent < <(mpi intel "$sdk" | sed 's/mpi: {}/mpi: {mpiImplementation: Intel}/')
check "a runtime without its container is refused" refuses spec.template.spec.replicatedJobs < <(runtime TrainingRuntime wrong '' main)
check "also in an update, upstream's defect 15" refuses spec.template.spec.replicatedJobs < <(runtime TrainingRuntime rt '' main)

check "a TrainJob" silent < <(trainjob one)
check "with a deprecated runtime it warns" warns deprecated < <(trainjob two | sed 's/name: rt/name: old/')
check "a name that leaves none for the pods warns" warns 'this TrainJob cannot start: .*-abcde' < <(trainjob "$(printf '%060d' 0 | tr 0 a)")
check "a reserved variable is refused" refuses 'spec.trainer.env: Invalid value' < <(trainjob bad 'trainer: {env: [{name: PET_NNODES, value: "1"}]}')
check "a runtime of no kind" refuses 'spec.runtimeRef: .*unsupported runtime' < <(trainjob bad | sed 's/kind: TrainingRuntime/kind: Other/')
check "a runtime whose name is a path is not there, either" refuses 'spec.runtimeRef: .*not found' < <(trainjob bad | sed 's|name: rt|name: ../x|')
check "a runtime that is not there" refuses 'spec.runtimeRef: .*not found' < <(trainjob bad | sed 's/name: rt/name: none/')
check "several errors at once" refuses '\[spec.runtimeRef: .*dataset.*, spec.runtimeRef: .*model' < <(trainjob bad 'initializer: {dataset: {}, model: {}}')
wrong_type() { ! put >"$scratch/out" && said 'spec.trainer.numNodes: Invalid value: "string"' <"$scratch/out"; }
check "a wrong type is the schema's, with its path: correction 7" wrong_type < <(trainjob bad 'trainer: {numNodes: "2"}')
bare() { ! put >"$scratch/out" && said '(Forbidden).*spec: Required' <"$scratch/out"; }
check "no spec at all" bare < <(trainjob bad | sed '/^spec/d')

# What is there stays usable when its runtime goes.
check "a TrainJob of a runtime that will go" silent < <(trainjob keep 'trainer: {numNodes: 1}')
snapshot() { kc get configmap keep-runtime-snapshot -n $ns; }
check "has its snapshot" wait_for 30 snapshot
kc delete trainingruntime rt -n $ns >/dev/null
check "then new ones are refused" refuses 'spec.runtimeRef: .*not found' < <(trainjob late)
check "its labels may change" eval 'merge keep "{\"metadata\": {\"labels\": {\"a\": \"b\"}}}" | said patched'
check "it may be resumed" eval 'merge keep "{\"spec\": {\"suspend\": false}}" | said patched'
check "and suspended" eval 'merge keep "{\"spec\": {\"suspend\": true}}" | said patched'
patched() { trainjob keep "trainer: {numNodes: 1}, ${patches/JOB/node}" | silent; } # once its pods are gone
check "patches are held against the snapshot" wait_for 30 patched
check "and refused by it" refuses 'spec.runtimePatches: .*no job "none"' < <(trainjob keep "trainer: {numNodes: 1}, ${patches/JOB/none}")
check "with a finalizer it is deleted" eval 'merge keep "{\"metadata\": {\"finalizers\": [\"a.b/c\"]}}" && kc delete trainjob keep -n $ns --wait=false'
released() { merge keep '{"metadata": {"finalizers": null}}' && ! kc get trainjob keep -n $ns; }
check "and released" released

# What there is to fill in, and who asks for it.
filled() { trainjob "$1" "$2" | sed 's/name: rt/name: old/' | put && kc get trainjob "$1" -n $ns -o jsonpath='{.spec.runtimePatches[*].time}' | grep T; }
check "a patch gets its time" filled timed "${patches/JOB/node}"
spec_is() { ! sed "s/^spec:.*/spec: $1/" <(trainjob bad) | kc create -n $ns --validate=false -f - >"$scratch/out" 2>&1 && said "$2" <"$scratch/out"; }
for spec in 7 '[]' '"a"' null '{}'; do
	check "a spec that is $spec" spec_is "$spec" 'spec'
	check "... is not refused by a condition of ours" eval '! grep -iE "condition|expression|overload" "$scratch/out"'
done
webhook_path() {
	kc patch mutatingwebhookconfiguration defaulter.trainer.kubeflow.org --type json \
		-p "[{\"op\": \"replace\", \"path\": \"/webhooks/0/clientConfig/service/path\", \"value\": \"$1\"}]"
}
check "without the webhook that fills in" webhook_path /nothing
try() { trainjob "$1" "${2:-}" | sed 's/name: rt/name: old/' | kc create -n $ns --dry-run=server -f - 2>&1; }
asked() { try asked "${patches/JOB/node}" | grep 'failed calling webhook'; }
check "... a TrainJob that has patches is not taken" wait_for 30 asked
check "... one that has none is" eval 'try plain | said created'
served() { trainjob served | sed 's/name: rt/name: old/; s/{name: served}/{name: served, annotations: {kftrainer.io\/workspace: "sha256:0"}}/' | kc create -n $ns --dry-run=server -f - 2>&1 | grep 'failed calling webhook'; }
check "... and one with a workspace is not" served
check "it is back" webhook_path /mutate-trainer-kubeflow-org-v1alpha1-trainjob

# Whoever reaches the port. The API server is the only one that should.
url=https://$cluster_ip:9443/validate-trainer-kubeflow-org-v1alpha1
post() { # PATH FILE [CURL'S OPTIONS]: the code; the answer in $scratch/said
	in_cluster curl -sk --max-time 30 -o "$scratch/said" -w '%{http_code}\n' \
		-H 'Content-Type: application/json' --data-binary "@$2" "${@:3}" "$url-$1"
}
answers() { # HTTP-CODE LIKE PATH FILE...
	local code
	code=$(post "${@:3}")
	[ "$code" = "$1" ] && grep -q -e "$2" "$scratch/said" || { echo "$code"; head -c 500 "$scratch/said"; return 1; }
}
make_bodies() {
	python3 - "$scratch" <<-'PYTHON'
		import json, os, sys
		def write(name, data):
		    with open(os.path.join(sys.argv[1], name), "wb") as file:
		        file.write(data)
		def review(obj, **more):
		    request = dict({"uid": "u", "operation": "CREATE", "namespace": "n", "object": obj}, **more)
		    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()
		job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "a"},
		       "spec": {"runtimeRef": {"name": "rt", "kind": "TrainingRuntime", "apiGroup": "trainer.kubeflow.org"}}}
		write("good", review(job))
		write("empty", b"")
		write("half", review(job)[:-9])
		write("bytes", bytes(range(256)) * 100)
		write("utf8", review(job).replace(b'"a"', b'"\xff\xfe"'))
		write("twice", review(job).replace(b'"uid": "u"', b'"uid": "u", "uid": "v"'))
		write("pod", review({"apiVersion": "v1", "kind": "Pod"}))
		write("no-uid", review(job, uid=None))
		write("long-uid", review(job, uid="u" * 10000))
		write("numbers", review(dict(job, spec=7)))
		write("deep", b"[" * 100000)
		def nested(depth):
		    return {"a": nested(depth - 1)} if depth else {}
		write("nested", review(dict(job, spec=dict(job["spec"], runtimePatches=[nested(190)]))))
		write("three", review(dict(job, metadata={"name": "a", "annotations": {"x": "y" * 3000000}})))
		write("labels", review(dict(job, metadata={"name": "a", "labels": {"l%d" % i: "" for i in range(99000)}})))
		write("errors", review(dict(job, spec=dict(job["spec"], runtimePatches=[{"manager": ""}] * 40000))))
		write("values", review(dict(job, spec=dict(job["spec"], runtimePatches=[{"manager": ""}] * 200000))))
		write("many", b"[" + b"{}," * 2000000 + b"{}]")
		write("huge", b" " * (8 << 20))
	PYTHON
}
make_bodies
check "a review by anybody is answered" answers 200 '"uid":"u","allowed":false.*not found' trainjob "$scratch/good"
for body in empty half bytes utf8 twice pod no-uid long-uid deep many; do
	check "refused: $body" answers 200 '"allowed":false.*"code":4[01][03]' trainjob "$scratch/$body"
done
check "refused: a spec that is a number" answers 200 '"uid":"u","allowed":false.*"code":403' trainjob "$scratch/numbers"
check "refused: more than 7 MiB" answers 413 . trainjob "$scratch/huge"
check "an object of 3 MB is answered" answers 200 '"uid":"u","allowed":false.*not found' trainjob "$scratch/three"
check "190 levels" answers 200 '"uid":"u","allowed":false' trainjob "$scratch/nested"
check "99000 labels" answers 200 '"uid":"u","allowed":false' trainjob "$scratch/labels"
check "40000 errors" answers 200 '"uid":"u","allowed":false' trainjob "$scratch/errors"
check "refused: 400000 values" answers 200 '"allowed":false.*more than 100000 values.*"code":413' trainjob "$scratch/values"
check "another type" answers 200 'expected application/json' trainjob "$scratch/good" -H 'Content-Type: text/yaml'
check "another path" answers 404 'not found' nothing "$scratch/good"
at_once() {
	local i pids=()
	for i in 1 2 3 4 5 6; do
		post trainjob "$scratch/labels" >/dev/null &
		pids+=($!)
	done
	silent < <(trainjob meanwhile | sed 's/name: rt/name: old/') # it warns: what counts is that it is admitted
	wait "${pids[@]}"
	kc get trainjob meanwhile -n $ns
}
check "and the API server is served meanwhile" at_once
memory() { # MB
	local pid kb
	pid=$(controller_pid)
	grep -e VmHWM -e VmRSS "/proc/$pid/status"
	less() { kb=$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status") && [ "$kb" -lt $(($1 * 1024)) ]; }
	! grep -q __asan_init "$kftrainer" || return 0 # which keeps what was freed
	wait_for 60 less "$1"
}
check "and it is still there, and has given the memory back" memory 48

# Without the webhooks, what is being deleted can still go (VictoriaMetrics/helm-charts#2726).
check "a TrainJob with a finalizer" eval 'trainjob held "$patches" | sed "s/JOB/node/; s/name: rt/name: old/; s/name: held/&, finalizers: [example.com\/x]/" | put'
check "... is deleted" kc delete trainjob held -n $ns --wait=false
controller_down
check "its finalizer is taken away while no controller runs" eval 'merge held "{\"metadata\": {\"finalizers\": null}}" | said patched'
check "... and it is gone" eval '! kc get trainjob held -n $ns'
kc delete clustertrainingruntime "old-$$" >/dev/null
kc delete namespace $ns --wait=false >/dev/null
finish
