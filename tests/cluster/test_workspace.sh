#!/bin/bash
# `submit --workspace` against a real API server, admission, garbage collector and JobSet: the
# ConfigMap and its limit, who owns it, what is left when it fails, and other people's controllers.
# Pods that unpack it are in tests/e2e/test_workspace.sh.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
cluster_up
ns=workspace-$$
kc create namespace $ns >"$scratch/namespace"
kt() { kc -n $ns "$@"; }
code=$scratch/code
export TMPDIR=$scratch/tmp # where archives are packed
mkdir -p "$code/lib" "$TMPDIR"
printf 'print("hello")\n' >"$code/train.py"
printf '#!/bin/sh\n' >"$code/run.sh"
chmod 755 "$code/run.sh"

submit() { # NAME ARGUMENT...
	local job=$1
	shift
	in_cluster env KUBECONFIG="${kubeconfig:-$cluster_state/admin.kubeconfig}" "$kftrainer" submit \
		--runtime torch-distributed -n $ns --name "$job" --workspace "$code" "$@" -- python3 train.py
}
map_of() { kt get configmap -o name | grep "configmap/$1-workspace-"; }
why() { in_cluster env KUBECONFIG="$cluster_state/admin.kubeconfig" "$kftrainer" why "$1" -n $ns; }
field() { # NAME PATH WANTED
	local got
	got=$(kt get trainjob "$1" -o "jsonpath={$2}")
	[ "$got" = "$3" ] || { echo "$2 is '$got', not '$3'"; return 1; }
}
jobset_has() { # NAME PATH WANTED
	local got
	got=$(kt get jobset "$1" -o "jsonpath={.spec.replicatedJobs[0].template.spec.template.spec$2}")
	[ "$got" = "$3" ] || { echo "$2 is '$got', not '$3'"; return 1; }
}
gone() { ! kt get "$@" 2>/dev/null; }
says() { # TEXT COMMAND...: fails and says that, in one line
	local text=$1
	shift
	! "$@" >"$scratch/says" 2>&1 || { cat "$scratch/says"; echo "it did not fail"; return 1; }
	grep -v '^workspace ' "$scratch/says" | grep -- "$text" || { cat "$scratch/says"; return 1; }
}
told() { kt get events --field-selector "involvedObject.name=$1" -o 'jsonpath={range .items[*]}{.message}{"\n"}{end}' | grep -- "$2"; }

# ---- nobody who would unpack it ------------------------------------------------------------------
trainer_install >"$scratch/install" 2>&1 || cat "$scratch/install"
kc delete mutatingwebhookconfigurations,validatingwebhookconfigurations --all >/dev/null
check "without our webhooks it is refused in one line" says 'Trainer is not kftrainer' submit alone
check "... and nothing is left" gone trainjob alone
trainer_install >"$scratch/install" 2>&1 || cat "$scratch/install"
kc delete configmap -n $trainer_ns kubeflow-trainer-public >/dev/null

# ---- the way it goes -----------------------------------------------------------------------------
check "the controller starts" controller_up --image registry.example/ours:7
check "a folder is shipped" submit first
check "... in a ConfigMap named after its contents" map_of first
digest=$(kt get trainjob first -o 'jsonpath={.metadata.annotations.kftrainer\.io/workspace}')
named() { kt get configmap "first-workspace-$(cut -c 8-19 <<<"$digest")"; }
check "... whose digest the TrainJob carries" named
bytes_are() {
	kt get configmap "$(map_of first | cut -d/ -f 2)" -o 'jsonpath={.binaryData.workspace\.tar\.zst}' |
		base64 -d | sha256sum | grep "^${digest#sha256:}"
}
check "... whose bytes have it" bytes_are
owned() { kt get "$(map_of first)" -o 'jsonpath={.metadata.ownerReferences[0].uid}' | grep -x "$(kt get trainjob first -o 'jsonpath={.metadata.uid}')"; }
check "... which the TrainJob owns" owned
check "the job not suspended" field first .spec.suspend false
check "... and waits for nothing" field first '.metadata.annotations.kftrainer\.io/workspace-awaited' ''
check "the JobSet is there" wait_for 30 kt get jobset first
not_suspended() { [ "$(kt get jobset first -o 'jsonpath={.spec.suspend}')" = false ]; }
check "... not suspended" wait_for 30 not_suspended
check "... with an init container of our image" jobset_has first '.initContainers[0].image' registry.example/ours:7
check "... the files from the ConfigMap" jobset_has first '.volumes[?(@.name=="kftrainer-workspace-archive")].configMap.name' "$(map_of first | cut -d/ -f 2)"
check "... and the working folder" jobset_has first '.containers[0].workingDir' /mnt/workspace
check "the same folder again has the same digest" submit second
check "... as annotation" field second '.metadata.annotations.kftrainer\.io/workspace' "$digest"
check "--suspend: it stays suspended" submit third --suspend
check "... with its files" map_of third
check "... and nothing awaited" field third '.metadata.annotations.kftrainer\.io/workspace-awaited' ''
check "... really" field third .spec.suspend true
map=$(map_of first)
kt delete trainjob first --wait >/dev/null
check "a deleted TrainJob removes its files" wait_for 60 gone "${map:?}"
check "a dry run on the server stores nothing" submit dry --dry-run=server
check "... no TrainJob" gone trainjob dry
check "... no ConfigMap" eval '! map_of dry'

# ---- the limit -----------------------------------------------------------------------------------
archive_size() { "$kftrainer" submit --dry-run=client -o json --runtime torch-distributed --name x --workspace "$code" -- true 2>/dev/null |
	python3 -c 'import base64, json, sys
d = json.loads(sys.stdin.read() or "{\"kind\": \"\"}")
for o in d.get("items", [d]):
    if o["kind"] == "ConfigMap":
        print(len(base64.b64decode(o["binaryData"]["workspace.tar.zst"])))'; }
# Bytes that cannot be packed smaller, the same in every run, until the archive has exactly 1 MiB.
noise() { python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(int(sys.argv[1])).randbytes(1200000))' "$1" >"$scratch/noise"; } # SEED
size=
fill() { # SIZE
	local want=$1 got i
	for i in {0..299}; do
		[ $((i % 6)) != 0 ] || { # other noise, when this one does not come to it
			noise "$i"
			size=$((want - 2000))
		}
		head -c "$size" "$scratch/noise" >"$code/noise.bin"
		got=$(archive_size)
		[ "$got" != "$want" ] || return 0
		size=$((size + want - ${got:-$((want + 5))}))
	done
	echo "$i tries: $got"
	return 1
}
# The next bytes of it, one by one, until the archive is larger than that.
overfill() {
	local i
	for i in {1..1000}; do
		head -c "$((size + i))" "$scratch/noise" >"$code/noise.bin"
		[ -n "$(archive_size)" ] || return 0
	done
	return 1
}
check "a folder whose archive has exactly 1 MiB" fill 1048576
check "... is taken by the API server" submit full
check "... and is there" map_of full
check "... and with the next bytes more than that" overfill
check "that is refused, with the largest files" says 'the largest files: noise.bin 10' submit more
check "... and nothing is left" gone trainjob more
rm "$code/noise.bin"

# ---- what fails in between -----------------------------------------------------------------------
kc create serviceaccount -n $ns half >/dev/null
kt create role half --verb=create,get,list,watch,patch,delete --resource=trainjobs.trainer.kubeflow.org >/dev/null
kt create rolebinding half --role=half --serviceaccount=$ns:half >/dev/null
cluster kubeconfig "$scratch/half.kubeconfig" "system:serviceaccount:$ns:half"
check "a user who may not create ConfigMaps is told so" eval 'kubeconfig=$scratch/half.kubeconfig says "create configmaps" submit half'
check "... and has no TrainJob" gone trainjob half
kc create serviceaccount -n $ns editor >/dev/null
kt create rolebinding editor --clusterrole=edit --serviceaccount=$ns:editor >/dev/null
cluster kubeconfig "$scratch/editor.kubeconfig" "system:serviceaccount:$ns:editor"
check "Kubernetes' role edit may submit a workspace" eval 'kubeconfig=$scratch/editor.kubeconfig submit editor'
check "... and it arrives" field editor .spec.suspend false
cat >"$scratch/policy.yaml" <<-END
	apiVersion: admissionregistration.k8s.io/v1
	kind: ValidatingAdmissionPolicy
	metadata: {name: $ns}
	spec:
	  failurePolicy: Fail
	  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
	  matchConditions: [{name: here, expression: "request.namespace == '$ns' && request.dryRun != true && request.name.contains('-workspace-')"}]
	  validations: [{expression: "false", message: "not today"}]
	---
	apiVersion: admissionregistration.k8s.io/v1
	kind: ValidatingAdmissionPolicyBinding
	metadata: {name: $ns}
	spec: {policyName: $ns, validationActions: [Deny]}
END
kc apply -f "$scratch/policy.yaml" >/dev/null
denied() { ! kt create configmap probe-workspace-x 2>/dev/null || { kt delete configmap probe-workspace-x; return 1; }; }
wait_for 30 denied
check "files that are refused after the job was created: told" says 'not today' submit between
check "... the job is deleted again" gone trainjob between
check "--keep: likewise, but the job stays" says 'not today' submit kept --keep
check "... suspended" field kept .spec.suspend true
check "... and says what it waits for" field kept '.metadata.annotations.kftrainer\.io/workspace-awaited' resume
check "... as why says" eval 'why kept | tee /dev/stderr | grep "because its workspace"'
kc delete -f "$scratch/policy.yaml" >/dev/null
allowed() { kt create configmap probe-workspace-x && kt delete configmap probe-workspace-x; }
wait_for 30 allowed
check "the same submit again delivers the files" submit kept
check "... and resumes it" field kept .spec.suspend false
check "... and once more it is simply there already" says 'already exists' submit kept

# ---- a TrainJob without its files ----------------------------------------------------------------
hand_made() { # NAME DIGEST
	kt create -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1, annotations: {kftrainer.io/workspace: "$2"}}
		spec: {runtimeRef: {name: torch-distributed}}
	END
}
check "a TrainJob whose ConfigMap does not exist is accepted" hand_made lonely "sha256:$(printf '0%.0s' {1..64})"
check "... and an event says what is missing" wait_for 60 told lonely 'ConfigMap lonely-workspace-000000000000'
check "... while there is no JobSet" gone jobset lonely
check "... and why has it, too" eval 'why lonely | tee /dev/stderr | grep "ConfigMap lonely-workspace-000000000000"'
check "an invalid digest is refused" says 'kftrainer.io/workspace' hand_made wrong sha256:1234
check "no files of the archive are left here" eval '! ls -d "$TMPDIR"/kftrainer-workspace-* 2>/dev/null'
kc delete namespace $ns --wait=false >/dev/null
controller_down
finish
