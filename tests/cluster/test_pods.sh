#!/bin/bash
# What happens to a job's pods is told on its TrainJob. The scheduler is real; there is no
# kubelet, so what one would report is written into the pods' status here.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
cluster_shared
kt() { kc -n pods-test "$@"; }
check "the controller starts" controller_up
kc create namespace pods-test >"$scratch/namespace"

trainjob() { # NAME NODES
	kt create -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1}
		spec: {runtimeRef: {name: torch-distributed}, trainer: {numNodes: $2, command: ["true"]}}
	END
}
pods() { [ "$(kt get pods -l "jobset.sigs.k8s.io/jobset-name=$1" -o name | wc -l)" = "$2" ]; }
of_rank() { echo "jobset.sigs.k8s.io/jobset-name=$1,batch.kubernetes.io/job-completion-index=$2"; }
pod() { kt get pods -l "$(of_rank "$1" "$2")" -o name; }
report() { report_pods pods-test "$(of_rank "$1" "$2")" "$3"; } # JOB RANK STATUS
terminated() { # CODE REASON SECOND
	echo "{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"node\",\"image\":\"i\",\"imageID\":\"\",\"ready\":false,\"restartCount\":0,
	\"state\":{\"terminated\":{\"exitCode\":$1,\"reason\":\"$2\",\"finishedAt\":\"2026-01-01T00:00:0$3Z\"}}}]}"
}
# shellcheck disable=SC2034 # eval
waiting='{"containerStatuses":[{"name":"node","image":"i","imageID":"","ready":false,"restartCount":0,
	"state":{"waiting":{"reason":"ErrImagePull","message":"no such image"}}}]}'
told() { # JOB REASON TEXT...: the message of that event on the TrainJob has each text
	local job=$1 reason=$2 said
	shift 2
	said=$(kt get events --field-selector "involvedObject.kind=TrainJob,involvedObject.name=$job,reason=$reason" -o 'jsonpath={range .items[*]}{.message}{" at "}{.firstTimestamp}{"\n"}{end}')
	echo "$said"
	[ "$(grep -c . <<<"$said")" = 1 ] || return 1
	for text; do grep -qF -- "$text" <<<"$said" || return 1; done
}

check "a TrainJob of three nodes has its pods" eval 'trainjob three 3 && wait_for 60 pods three 3'
check "unschedulable pods are reported once, in the scheduler's words" \
	wait_for 60 told three Unschedulable "3 pods, first three-node-0-" "(node rank " "nodes are available" " at 20"
check "an image that cannot be pulled" eval 'report three 1 "$waiting" && wait_for 60 told three ImagePullFailed "node-1 (node rank 1): container node: image " "no such image"'

check "another TrainJob has its pods" eval 'trainjob two 2 && wait_for 60 pods two 2'
fails() { # the later one is seen first
	report two 0 "$(terminated 5 Error 9)" && report two 1 "$(terminated 3 Error 4)"
}
check "two of its ranks fail" fails
check "their exit codes are reported" wait_for 60 told two ContainerFailed "pods, first two-node-0-0-" "exit code 5"

check "a TrainJob that is tried once has its pods" eval 'tried_once 2 | kt create -f - && wait_for 60 pods once 2'
spoof() { # a pod that anybody can make: it has the labels of the job, and failed before all others
	kt create -f - <<-END && report_pods pods-test spoof=yes "$(terminated 66 Error 1)"
		apiVersion: v1
		kind: Pod
		metadata:
		  name: spoof
		  labels: {spoof: "yes", jobset.sigs.k8s.io/jobset-name: once, jobset.sigs.k8s.io/replicatedjob-name: node,
		    jobset.sigs.k8s.io/job-index: "0", batch.kubernetes.io/job-completion-index: "0"}
		spec: {containers: [{name: node, image: i}]}
	END
}
check "a pod that only has its labels fails first" spoof
check "one of its ranks is out of memory" report once 1 "$(terminated 137 OOMKilled 4)"
failed() { [ "$(kt get trainjob once -o 'jsonpath={.status.conditions[?(@.type=="Failed")].status}')" = True ]; }
check "the TrainJob fails" wait_for 60 failed
check "its Failed event names the rank that failed first" \
	wait_for 60 told once Failed "node-1 (node rank 1): container node: exit code 137 (SIGKILL), out of memory"
ends_with() { kt get trainjob once -o 'jsonpath={.status.conditions[?(@.type=="Failed")].message}' | grep -E -- "$1\$"; }
check "... and so does the message of its Failed condition, behind JobSet's words" \
	ends_with '^jobset failed .*; first: node-1 \(node rank 1\): container node: exit code 137 \(SIGKILL\), out of memory'
check "... nothing of the other pod" eval '! kt get events -o json | grep -q "exit code 66" && ! in_cluster env KUBECONFIG="$cluster_state/admin.kubeconfig" "$kftrainer" why once -n pods-test | grep -e spoof -e "code 66"'
quiet() { [ "$(kt get events --field-selector involvedObject.kind=TrainJob,involvedObject.name=once,type=Warning -o name | wc -l)" = 3 ]; }
check "only that is a warning, not the pods that end with it" eval 'sleep 3; quiet || { kt get events; false; }'
finish
