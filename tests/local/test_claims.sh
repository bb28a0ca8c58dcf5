#!/bin/bash
# Volume claims: what jobs write into them stays, is shown, and goes when somebody says so.
# shellcheck disable=SC1091,SC2016,SC2154 # what is for other shells; jobs.sh
. "$(dirname "$0")/jobs.sh"

# with_claim COMMAND: a node with the claim "checkpoints" at ./ckpt.
with_claim() {
	node "$1" "volumes: [{name: v, persistentVolumeClaim: {claimName: checkpoints}}]" |
		sed "s|containers: \[{name: node,|containers: [{name: node, volumeMounts: [{name: v, mountPath: $scratch/ckpt}],|"
}

job saves 1 < <(with_claim 'seq 1 >>ckpt/steps; wc -l <ckpt/steps')
for i in $(seq 12); do
	submit saves
	[ "$status" = 0 ] || break
done
ok "the twelfth run finds what the eleven before it have saved" printed '\[node-0\] 12$'
job other 1 < <(with_claim 'wc -l <ckpt/steps')
submit other
ok "... and so does another job" printed '\[node-0\] 12$'
run "$kftrainer" delete saves
ok "a job is deleted" exits 0
submit other
ok "... its claim stays" printed '\[node-0\] 12$'
submit other -n team
ok "a claim of another namespace is another" printed '\[node-0\]'
ok "... and empty" exits 1

run "$kftrainer" get claims
ok "get claims: exits 0" exits 0
ok "... a line each of the namespace" lines 1 '^default +checkpoints +'
ok "... with its folder" printed "$XDG_STATE_HOME/kftrainer/claims/default/checkpoints\$"
dd if=/dev/zero of="$XDG_STATE_HOME/kftrainer/claims/default/checkpoints/weights" bs=1M count=3 2>"$scratch/dd"
run "$kftrainer" get claims
ok "... its size on disk, and the jobs that mount it" printed ' 3\.0 MiB .* other +/'
run "$kftrainer" get claims -A -o name
ok "get claims -A -o name" lines 2 '^claim/checkpoints$'
run "$kftrainer" get claim/checkpoints -o yaml
ok "get claim/NAME -o yaml" printed '^kind: PersistentVolumeClaim'
run "$kftrainer" get claim/checkpoint
ok "get of one that is not there" exits 1
ok "... says which there is" printed 'did you mean .checkpoints.'

job busy 1 < <(with_claim 'touch up; while [ ! -e over ]; do sleep 0.05; done')
"$kftrainer" submit --local busy.yaml >busy.out 2>&1 </dev/null &
busy=$!
until_true test -e up
run "$kftrainer" delete claim/checkpoints
ok "a claim is not deleted while a job that uses it runs" exits 1
ok "... it says which" printed 'in use by running job busy'
touch over
wait $busy
run "$kftrainer" delete claim/checkpoints
ok "delete claim/NAME" exits 0
run "$kftrainer" get claims
ok "... it is gone" printed 'No claims in namespace default'
run "$kftrainer" delete claim/checkpoints
ok "... once more: exits 1" exits 1
run "$kftrainer" delete claim/checkpoints --ignore-not-found
ok "... with --ignore-not-found: exits 0" exits 0
# ---- delete claims --unused -------------------------------------------------------------------
job keeps 1 < <(with_claim 'echo x >ckpt/x')
submit keeps
claims=$XDG_STATE_HOME/kftrainer/claims/default
mkdir -p "$claims/stray" && dd if=/dev/zero of="$claims/stray/data" bs=1M count=2 2>"$scratch/dd"
run "$kftrainer" delete claims --unused
ok "delete claims --unused" exits 0
ok "... says what, and how much it freed" printed '^claim stray deleted, 2\.0 MiB freed$'
ok "... and in all" printed '^1 unused claim deleted in namespace default, 2\.0 MiB freed; 1 in use$'
ok "... that of a finished job stays" test -e "$claims/checkpoints/x"
run "$kftrainer" delete claims --unused bert
ok "... no job with it" exits 2
run "$kftrainer" delete keeps --unused
ok "... nor without claims" exits 2
mkdir "$claims/stray"
run "$kftrainer" delete claims --unused --older-than 7d
ok "... nor with an option that chooses jobs" exits 2
run "$kftrainer" delete claim/stray --finished
ok "... nor one claim" exits 2
ok "... which says so" printed '^kftrainer delete: --finished cannot be used with claims$'
ok "... and deletes nothing" test -d "$claims/stray"
run "$kftrainer" delete claims --unused --context c
ok "... not those of a cluster" printed "claims are local only; for a cluster's use 'kubectl delete persistentvolumeclaims'"

# ---- claims of the JobSet's templates ---------------------------------------------------------
templates() { # NAME [WHENDELETED]: a job that mounts the claims own-NAME and checkpoints
	cat >"$1.yaml" <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: templates-$1}
		spec:
		  mlPolicy: {numNodes: 1}
		  template:
		    spec:
		      volumeClaimPolicies:
		      - templates: [{metadata: {name: own}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
		        ${2:+retentionPolicy: {whenDeleted: $2\}}
		      replicatedJobs:
		      - name: node
		        template:
		          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
		          spec:
		            template:
		              spec:
		                volumes: [{name: v, persistentVolumeClaim: {claimName: checkpoints}}]
		                containers:
		                - name: node
		                  image: none
		                  command: [sh, -c, 'echo saved >$scratch/own/x; echo saved >$scratch/ckpt/y']
		                  volumeMounts: [{name: own, mountPath: $scratch/own}, {name: v, mountPath: $scratch/ckpt}]
		---
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1}
		spec: {runtimeRef: {kind: TrainingRuntime, name: templates-$1}}
	END
}
templates goes
templates stays Retain
submit goes
submit stays
ok "that their policy is not applied is not said" eval '! grep -q volumeClaimPolicies out'
ok "claims of templates are named after the job" test -s "$claims/own-goes/x" -a -s "$claims/own-stays/x"
run "$kftrainer" delete goes stays
ok "they are deleted with the job, as the policy says and by default" test ! -e "$claims/own-goes"
ok "... unless it says Retain" test -s "$claims/own-stays/x"
ok "... others are kept" test -s "$claims/checkpoints/y"
submit goes
job mounts 1 < <(with_claim 'true' | sed "s/checkpoints/own-goes/")
submit mounts
run "$kftrainer" delete goes
ok "... also what another job mounts" test -s "$claims/own-goes/x"
run "$kftrainer" delete mounts keeps
run "$kftrainer" delete claims --unused
ok "... which is unused when that is deleted, too" test ! -e "$claims/own-goes" -a -e "$claims/checkpoints"

job torn 1 < <(with_claim 'true' | sed "s/checkpoints/torn-data/")
submit torn
for objects in "$XDG_STATE_HOME"/kftrainer/jobs/default/torn/*/objects.json; do
	echo '[{' >"$objects"
done
run "$kftrainer" delete claims --unused
ok "a job whose JobSet cannot be read may use any claim" test -d "$claims/torn-data"
state=$XDG_STATE_HOME/kftrainer/jobs/default
if strace -o /dev/null true 2>/dev/null; then
	mv "$state/torn" .
	job whole 1 < <(with_claim 'true' | sed "s/checkpoints/whole-data/")
	submit whole
	# away PATH ARGUMENT...: the server of a directory is away.
	away() { run strace -f -P "$1" -o /dev/null -e inject=open,openat,getdents64:error=ESTALE "$kftrainer" "${@:2}"; }
	for dir in "$state" "$state/whole"; do
		away "$dir" delete claims --unused
		ok "jobs that cannot be listed may use any claim: ${dir#"$XDG_STATE_HOME"}" test -d "$claims/whole-data"
		away "$dir" delete whole
		ok "... and are not gone" eval 'exits 1 && printed "$dir: Stale file handle" && test -d "$state/whole"'
		away "$dir" get
		ok "... which get says" eval 'exits 1 && printed "$dir: Stale file handle"'
	done
	away "$(echo "$state"/whole/2*/logs/*/*.log)" logs whole
	ok "a log that cannot be opened is not empty" eval '! exits 0 && printed "Stale file handle"'
	run "$kftrainer" delete whole
	mv torn "$state"
fi
run "$kftrainer" delete torn
run "$kftrainer" delete claims --unused
ok "... until it is deleted" test ! -e "$claims/torn-data"

run "$kftrainer" delete claim/../../jobs
ok "no claim's name leads elsewhere" exits 1
ok "... and nothing of others is gone" test -d "$XDG_STATE_HOME/kftrainer/jobs/default/busy"
finish
