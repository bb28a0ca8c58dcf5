#!/bin/bash
# `submit --workspace` with real pods: the folder is where the command starts, in each pod a copy
# of its own, whoever runs it and however strict the namespace is.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_shared
code=$scratch/code
mkdir -p "$code/lib" "$code/.git"
cat >"$code/train.sh" <<'END'
#!/bin/bash
set -e
. lib/words.sh
[ ! -e .git ]
[ "$(readlink link)" = lib/words.sh ]
echo "cwd=$PWD user=$(id -u) words=$words"
echo mine >>"lib/out-$JOB_COMPLETION_INDEX"   # a folder of the workspace
echo more >>lib/words.sh                      # a file of it
sleep 1
echo "files=$(ls lib | xargs)"
END
# shellcheck disable=SC2016
printf 'words='\''$HOME `id` "quoted"'\''\n' >"$code/lib/words.sh"
ln -s lib/words.sh "$code/link"
echo x >"$code/.git/HEAD"
chmod 755 "$code/train.sh"

submit() { # NAME ARGUMENT...: of the TrainJob on stdin, or options
	local job=$1
	shift
	in_cluster env KUBECONFIG="$cluster_state/admin.kubeconfig" "$kftrainer" submit -n "${in:-$ns}" --name "$job" --workspace "$code" "$@" -
}
of_job() { # SPEC
	cat <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: any}
		spec: $1
	END
}
run_it='{runtimeRef: {kind: TrainingRuntime, name: sh}, trainer: {numNodes: 2, command: [./train.sh]}}'
as_user() { # UID: all of the pod
	echo "{runtimeRef: {kind: TrainingRuntime, name: sh}, trainer: {numNodes: 2, command: [./train.sh]}, runtimePatches: [
		{manager: test.example/e2e, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {
		securityContext: {runAsUser: $1, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}${2:-}}}}}}]}}}}]}"
}

check "a job with a folder is sent" eval 'of_job "$run_it" | submit code'
check "... and runs" becomes code Complete
check "... in the folder" eval '[ "$(logs code | grep -c "^cwd=/mnt/workspace ")" = 2 ]'
# shellcheck disable=SC2016
check "... whose bytes are those that were sent" eval 'logs code | grep -F "words=\$HOME \`id\` \"quoted\""'
check "... each pod with its own copy" eval 'logs code | grep -x "files=out-0 words.sh" && logs code | grep -x "files=out-1 words.sh"'
init_log() { k logs "$(pods code | cut -d" " -f 1)" -c workspace; }
check "the init container says what it did" eval 'init_log | grep "^workspace: unpacked 4 files and directories"'
check "a job of another user's pods" eval 'of_job "$(as_user 1234)" | submit user'
check "... runs, too, and may write there" becomes user Complete
check "... as that user" eval '[ "$(logs user | grep -c " user=1234 ")" = 2 ]'

# Pod Security Admission at its strictest: what we add to the pod is not what it refuses.
kc create namespace strict >/dev/null
kc label namespace strict pod-security.kubernetes.io/enforce=restricted >/dev/null
runtimes | kc apply -n strict -f - >/dev/null
ours='{allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}'
check "a job of a namespace that is strict" eval \
	'of_job "$(as_user 1234 ", containers: [{name: node, securityContext: $ours}]")" | in=strict submit strict'
check "... runs, too" kc wait -n strict --for=condition=Complete trainjob/strict --timeout=600s
of_container() { # what the namespace demands is said of the container alone, its user as well
	echo "{runtimeRef: {kind: TrainingRuntime, name: sh}, trainer: {numNodes: 2, command: [./train.sh]}, runtimePatches: [
		{manager: test.example/e2e, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {
		containers: [{name: node, securityContext: {runAsUser: 1234, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}, ${ours#\{}}]}}}}}]}}}}]}"
}
check "... also where its container alone says what it may" eval 'of_job "$(of_container)" | in=strict submit alone --supervise'
check "... which is no less strict, and the folder its user's" kc wait -n strict --for=condition=Complete trainjob/alone --timeout=600s

# ---- by way of S3 --------------------------------------------------------------------------------
serve_s3
check "an S3 server runs" wait_for 30 in_cluster curl -s -o "$scratch/curl" http://$cluster_ip:7070/
k create secret generic place --from-literal=ACCESS_KEY_ID=key --from-literal=SECRET_ACCESS_KEY=secretsecret \
	--from-literal=ENDPOINT=http://$cluster_ip:7070 --from-literal=REGION=us-east-1 >/dev/null
export ENDPOINT=http://$cluster_ip:7070 REGION=us-east-1 ACCESS_KEY_ID=key SECRET_ACCESS_KEY=secretsecret
head -c 3000000 /dev/urandom >"$code/weights.bin"
check "a folder too large for a ConfigMap" eval 'of_job "$run_it" | submit large --workspace-to s3://bucket/jobs --workspace-secret place'
archives() { ls "$scratch/s3/bucket/jobs"; }
check "... is at that place, named after its contents" eval 'archives | grep -Ex "workspace-[0-9a-f]{64}.tar.zst"'
check "... and nothing is in a ConfigMap" eval '! k get configmap -o name | grep large-workspace'
check "... the job runs" becomes large Complete
check "... with all files" eval 'logs large | grep -x "files=out-0 words.sh"'
check "the same directory again is already there" eval 'of_job "$run_it" | submit again --workspace-to s3://bucket/jobs/ --workspace-secret place && [ "$(archives | wc -l)" = 1 ]'
check "... and runs" becomes again Complete
check "a wrong key is said, and nothing is created" eval \
	'! of_job "$run_it" | SECRET_ACCESS_KEY=wrong submit nokey --workspace-to s3://bucket/other 2>"$scratch/nokey" && ! k get trainjob nokey'
rm "$code/weights.bin"

# ---- what goes wrong -----------------------------------------------------------------------------
broken() { # the archive is not what was submitted
	local digest map
	of_job "$run_it" | submit broken --suspend || return 1
	digest=$(of broken '.metadata.annotations.kftrainer\.io/workspace')
	map=broken-workspace-$(cut -c 8-19 <<<"$digest")
	k get configmap "$map" -o json >"$scratch/map.json" && k delete configmap "$map" &&
		python3 -c 'import base64, json, sys
m = json.load(open(sys.argv[1]))
data = bytearray(base64.b64decode(m["binaryData"]["workspace.tar.zst"]))
data[len(data) // 2] ^= 1
m["binaryData"]["workspace.tar.zst"] = base64.b64encode(bytes(data)).decode()
json.dump(m, sys.stdout)' "$scratch/map.json" | k create -f - &&
		k patch trainjob broken --type merge -p '{"spec": {"suspend": false}}'
}
check "an archive that was changed on its way" broken
check "... is not unpacked, and the job fails" becomes broken Failed
check "... and an event has its words" tells broken 'container workspace: exit code 2.*not the one that was submitted'
broken_log() { k logs "$(pods broken | cut -d" " -f 1)" -c workspace; }
check "... with both digests in the log" eval 'broken_log | grep "not the one that was submitted"'
finish
