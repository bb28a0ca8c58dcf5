#!/bin/bash
# Volume claims of jobs of `controller --local`: deleted with their JobSet, kept while a stored job mounts them.
# before: tests/cluster/programs.sh
# shellcheck disable=SC1091,SC2016,SC2154 # what is for other shells; server.sh
. "$(dirname "$0")/server.sh"
claims=$XDG_STATE_HOME/kftrainer/claims/default
mkdir -p "$scratch/work"
# A job that mounts the claim own-NAME by a template, and the claim CLAIM.
apply() { # NAME CLAIM [SUSPEND]
	kubectl apply -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: templates}
		spec:
		  mlPolicy: {numNodes: 1}
		  template:
		    spec:
		      volumeClaimPolicies:
		      - templates: [{metadata: {name: own}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
		      replicatedJobs:
		      - name: node
		        template:
		          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
		          spec:
		            template:
		              spec:
		                volumes: [{name: v, persistentVolumeClaim: {claimName: shared}}]
		                containers:
		                - name: node
		                  image: none
		                  command: [sh, -c, 'echo saved >$scratch/work/own/x; echo saved >$scratch/work/v/x']
		                  volumeMounts: [{name: own, mountPath: $scratch/work/own}, {name: v, mountPath: $scratch/work/v}]
		---
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1}
		spec:
		  suspend: ${3:-false}
		  runtimeRef: {kind: TrainingRuntime, name: templates}
		  runtimePatches:
		  - manager: test.example/claims
		    trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {
		      volumes: [{name: v, persistentVolumeClaim: {claimName: $2}}]}}}}}]}}}
	END
}
gone() { [ ! -e "$claims/$1" ]; }
uses() { "$kftrainer" get claim/"$1" -o yaml | grep -qx "  *trainer.kubeflow.org/local-users: $2"; } # CLAIM JOBS

up
check "a job writes into its claims" eval 'apply one data && kubectl wait --timeout=-1s --for=condition=Complete trainjob/one &&
	[ -s "$claims/own-one/x" ] && [ -s "$claims/data/x" ]'
check "get claims names it" uses own-one one
check "a job that is stored suspended mounts one of them" eval 'apply later data true && until_true kubectl get jobset later && uses data "one, later"'
check "the first is deleted, and the claim of its template with it" eval 'kubectl delete trainjob one && until_true gone own-one'
check "... not the other" test -s "$claims/data/x"
check "... which the suspended job keeps" eval '"$kftrainer" delete claims --unused >"$scratch/out" && [ -s "$claims/data/x" ] && until_true uses data later'
check "... also when the server starts again" eval 'down KILL && up && until_true uses data later'
check "it is deleted, too" kubectl delete trainjob later
check "... then the claim is unused" eval 'until_true eval "! uses data later" &&
	"$kftrainer" delete claims --unused >"$scratch/out" && grep -qx "claim data deleted, 4.0 KiB freed" "$scratch/out" && gone data'
check "a job is deleted whose claim another one names" eval 'apply two data && kubectl wait --timeout=-1s --for=condition=Complete trainjob/two &&
	apply three own-two true && until_true uses own-two "two, three" && kubectl delete trainjob two && until_true eval "! uses data two"'
check "... the claim stays" test -s "$claims/own-two/x"
rm -rf "$scratch/gone" && down TERM && mv "$scratch/api" "$scratch/gone"
check "a server whose directory is gone uses nothing" eval '"$kftrainer" delete claims --unused >"$scratch/out" && gone own-two'
finish
