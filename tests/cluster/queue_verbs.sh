# Part of test_queue.sh. suspend and resume of a job that Kueue has admitted, which would start it
# again.
# shellcheck shell=bash disable=SC2154 # of lib.sh
ns=queue-verbs-$$
objects() {
	kc create namespace $ns && kc -n $ns apply -f - <<-END
		$(local_queues mine team)
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: one, labels: {kueue.x-k8s.io/queue-name: mine}}
		spec: {runtimeRef: {name: torch-distributed}, trainer: {numNodes: 1, resourcesPerNode: {requests: {cpu: 1}}}}
	END
}
check "a job in a queue" objects
kt() { in_cluster "$kftrainer" "$@" -n $ns; }
pods() { [ "$(kc -n $ns get pods -l jobset.sigs.k8s.io/jobset-name=one -o name | wc -l)" = "$1" ]; }
says() { # REGEX ARGUMENT...
	kt "${@:2}" >"$scratch/said" 2>&1 && grep -Eq -e "$1" "$scratch/said" || { cat "$scratch/said"; return 1; }
}
check "it is admitted" wait_for 60 pods 1
check "get -o wide: its queue" says '^one .* mine ' get -o wide
check "suspend: by its Workload" says '^trainjob one suspended \(its Workload in queue mine is not active\)$' suspend one
check "... its pod is deleted" wait_for 60 pods 0
check "... wait says so" says 'one is Suspended' wait one --for suspended --timeout 600s
check "... it stays so" eval 'sleep 3; pods 0'
check "... again" says 'one already suspended' suspend one
check "resume" says '^trainjob one resumed ' resume one
check "... its pod is created" wait_for 60 pods 1
check "... again" says 'not suspended' resume one
kc delete namespace $ns --wait=false >"$scratch/deleted"
