#!/bin/bash
# TrainJobs of this machine's API run: `controller --local` with kubectl, its restarts and kill -9.
# before: tests/cluster/programs.sh
# shellcheck disable=SC1091,SC2016,SC2154 # what is for other shells; server.sh
. "$(dirname "$0")/server.sh"
job() { # NAME NODES SCRIPT
	cat <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1}
		spec:
		  runtimeRef: {name: torch-distributed}
		  trainer: {numNodes: $2, command: [sh, -c, '$3']}
	END
}
of() { echo "-ljobset.sigs.k8s.io/jobset-name=$1"; }
is() { [ "$(kubectl get "$1" "$2" -o "jsonpath={$3}")" = "$4" ]; } # KIND NAME PATH VALUE
phases() { kubectl get pods "$(of "$1")" -o 'jsonpath={.items[*].status.phase}'; } # NAME
phases_are() { [ "$(phases "$1")" = "$2" ]; }
finished() { kubectl wait --timeout=-1s "--for=condition=$2" "trainjob/$1"; } # NAME CONDITION
# Of the processes of a job's pods: they have its name in their environment.
processes() { grep -lsz "^MARK=$1\$" /proc/[0-9]*/environ | grep -c .; } # MARK
two_run() { [ "$(processes "$1")" -ge 2 ]; }
some_run() { ! none_left "$1"; }
none_left() { [ "$(processes "$1")" = 0 ]; }

up
check "kubectl apply: two nodes find each other and complete" eval \
	'job two 2 "getent hosts two-node-0-1.two" | kubectl apply -f - && finished two Complete'
check "... the JobSet is Completed, the Job Complete" eval \
	'is jobset two .status.terminalState Completed && is job two-node-0 .status.succeeded 2 && is job two-node-0 .status.completedIndexes 0,1'
check "... pods: phase, exit code, index, owner, node" eval '
	phases_are two "Succeeded Succeeded" &&
	[ "$(kubectl get pods "$(of two)" -o "jsonpath={.items[*].status.containerStatuses[0].state.terminated.exitCode}")" = "0 0" ] &&
	[ "$(kubectl get pods "$(of two)" -o "jsonpath={.items[*].metadata.labels.batch\.kubernetes\.io/job-completion-index}")" = "0 1" ] &&
	[ "$(kubectl get pods "$(of two)" -o "jsonpath={.items[*].metadata.ownerReferences[0].uid}")" = "$(kubectl get job two-node-0 -o "jsonpath={.metadata.uid} {.metadata.uid}")" ] &&
	kubectl get node "$(kubectl get pods "$(of two)" -o "jsonpath={.items[0].spec.nodeName}")"'
check "... the node has all that clients ask of one" eval '
	for key in machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion kubeletVersion kubeProxyVersion operatingSystem architecture; do
		kubectl get nodes -o json | grep -q "\"$key\": " || { echo "no $key"; return 1; }
	done'
check "... their columns, wide as well" eval '
	kubectl get job two-node-0 --no-headers | grep -Eq "^two-node-0 +Complete +2/2 +[0-9]+[smh0-9]* +[0-9]" &&
	kubectl get job two-node-0 -o wide --no-headers | grep -Eq " node +[^ ]*pytorch[^ ]* +batch.kubernetes.io/controller-uid=" &&
	kubectl get pods -o wide --no-headers | grep -Eq " 127[.0-9]+ +[^ ]+ +<none> +<none>$" &&
	kubectl get nodes -o wide --no-headers | grep -Eq " Ready +<none> .* 127.0.0.1 +<none> +Linux .* kftrainer://"'
check "... jobsStatus has its six fields" is trainjob two '.status.jobsStatus[0]' \
	'{"active":0,"failed":0,"name":"node","ready":0,"succeeded":1,"suspended":0}'
check "... events of the pod, the Job, the JobSet" eval '
	kubectl get events -o "jsonpath={range .items[*]}{.involvedObject.kind}/{.reason} {end}" >"$scratch/events" &&
	grep -q Pod/Scheduled "$scratch/events" && grep -q Pod/Started "$scratch/events" && grep -q Job/SuccessfulCreate "$scratch/events" &&
	grep -q Job/Completed "$scratch/events" && grep -q JobSet/AllJobsCompleted "$scratch/events"'
check "pods are read-only" eval '! kubectl delete pods "$(of two)"'
check "a failing rank: the TrainJob fails, with its exit code" eval '
	job bad 2 "[ \$PET_NODE_RANK = 0 ] && exec sleep 1000; exit 7" | kubectl apply -f - && finished bad Failed &&
	kubectl get pods "$(of bad)" -o "jsonpath={.items[*].status.containerStatuses[0].state.terminated.exitCode}" | grep -qw 7'
refused() {
	sed 's/command: .*\]/command: []/' < <(job refused 1 true) | kubectl apply -f - && finished refused Failed &&
		is jobset refused '.status.conditions[?(@.type=="Failed")].reason' FailedToStart &&
		is trainjob refused '.status.conditions[?(@.type=="Failed")].reason' FailedToStart
}
check "what cannot run on a machine is Failed, and why" refused

# ---- what kubectl makes of its options, which it sends in protobuf --------------------------------
field() { [ "$(kubectl get "$1" "$2" -n made -o "jsonpath={$3}")" = "$4" ]; } # KIND NAME PATH VALUE
printf '\0\377' >"$scratch/bytes"
check "kubectl create namespace, configmap: files of text and of bytes" eval '
	kubectl create namespace made && kubectl create configmap c -n made --from-literal=a=1 --from-file="$scratch/bytes" &&
	field configmap c .data.a 1 && field configmap c .binaryData.bytes AP8='
check "kubectl create secret: generic, docker-registry, tls" eval '
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=x -keyout "$scratch/key" -out "$scratch/crt" 2>/dev/null &&
	kubectl create secret generic g -n made --from-literal=a=1 && field secret g .data.a MQ== &&
	kubectl create secret docker-registry d -n made --docker-username=u --docker-password=p && field secret d .type kubernetes.io/dockerconfigjson &&
	kubectl create secret tls t -n made --cert="$scratch/crt" --key="$scratch/key" && field secret t ".data.tls\.crt" "$(base64 -w0 "$scratch/crt")"'
check "kubectl create service" eval 'kubectl create service clusterip s -n made --clusterip=None --tcp=80:web && field service s ".spec.ports[0].targetPort" web'
check "kubectl auth can-i, --list, whoami" eval '
	[ "$(kubectl auth can-i create trainjobs)" = yes ] && kubectl auth can-i --list | grep -q "\*\.\*" && kubectl auth whoami | grep -q kftrainer'
map() { kubectl create configmap moved -n made --dry-run=client -o yaml "--from-literal=a=$1"; } # VALUE
managers() { kubectl get configmap moved -n made --show-managed-fields -o "jsonpath={.metadata.managedFields[*].manager}"; }
check "kubectl apply, then --server-side with another value: its fields move to kubectl" eval '
	map 1 | kubectl apply -f - && map 2 | kubectl apply --server-side -f - && field configmap moved .data.a 2 &&
	managers | grep -qw kubectl && ! managers | grep -q client-side'
check "... and back, and again" eval 'map 3 | kubectl apply -f - && field configmap moved .data.a 3 && map 4 | kubectl apply --server-side -f - && field configmap moved .data.a 4'
check "... not what somebody else has changed" eval 'map 5 | kubectl apply -f - && kubectl patch configmap moved -n made -p "{\"data\":{\"a\":\"6\"}}" &&
	! map 7 | kubectl apply --server-side -f - 2>"$scratch/said" && grep -q "conflict with \"kubectl-patch\"" "$scratch/said"'
check "kubectl create --dry-run=server makes nothing" eval 'kubectl create namespace dry --dry-run=server && ! kubectl get namespace dry'
check "the namespace default stays" eval '! kubectl delete namespace default && kubectl get namespace default'
finalizers() { kubectl patch configmap c -n held --type merge -p "{\"metadata\":{\"finalizers\":$1}}"; }
check "what has a finalizer holds its namespace" eval 'kubectl create namespace held && kubectl create configmap c -n held &&
	finalizers "[\"example.com/hold\"]" && kubectl delete namespace held --wait=false && kubectl get namespace held | grep Terminating'
check "... until it has none" eval 'finalizers null && kubectl wait --for=delete namespace/held --timeout=60s && ! kubectl get namespace held'
check "kubectl delete namespace takes all of it" eval 'kubectl delete namespace made && ! kubectl get configmap c -n made'
check "... with a job that runs: its processes end, and the namespace is not back" eval '
	kubectl create namespace made && job inside 1 "MARK=inside exec sleep 1000" | kubectl apply -n made -f - && until_true some_run inside &&
	kubectl delete namespace made && until_true none_left inside && until_true eval "! ls $XDG_STATE_HOME/kftrainer/jobs/made/* 2>/dev/null" && ! kubectl get namespace made'

# ---- logs ----------------------------------------------------------------------------------------
pod() { kubectl get pods "$(of "$1")" -o 'jsonpath={.items[0].metadata.name}'; } # NAME
says() { [ "$(kubectl logs "${@:2}")" = "$1" ]; } # TEXT ARGUMENTS
check "logs: all of it, the last lines, the first bytes" eval '
	job talk 1 "seq 1 3000" | kubectl apply -f - && finished talk Complete && says "$(seq 1 3000)" "$(pod talk)" &&
	says "$(seq 2991 3000)" "$(pod talk)" --tail 10 && says "" "$(pod talk)" --tail 0 && says "$(printf "1\\n2\\n3")" "$(pod talk)" --limit-bytes 6 &&
	says "$(seq 1 3000)" -l jobset.sigs.k8s.io/jobset-name=talk --tail -1'
check "logs: --timestamps, --since, --since-time" eval '
	[ "$(kubectl logs "$(pod talk)" --timestamps | grep -Ec "^20[0-9-]+T[0-9:]+\.[0-9]{9}Z [0-9]+$")" = 3000 ] &&
	says "$(seq 1 3000)" "$(pod talk)" --since 1h && says "" "$(pod talk)" --since-time 2099-01-01T00:00:00Z'
check "logs of no such container, of both times" eval '
	! kubectl logs "$(pod talk)" -c none 2>"$scratch/said" && grep -q "container none is not valid for pod" "$scratch/said" &&
	! kubectl get --raw "/api/v1/namespaces/default/pods/$(pod talk)/log?sinceSeconds=1&sinceTime=2030-01-01T00:00:00Z" 2>"$scratch/said" &&
	! kubectl logs "$(pod talk)" --previous 2>"$scratch/said" && grep -q "previous terminated container" "$scratch/said"'
follows() { # what is written meanwhile is seen, and the end of the container is the end
	job tell 1 "echo one; until [ -e $scratch/go-tell ]; do sleep 0.1; done; echo two" | kubectl apply -f - &&
		until_true phases_are tell Running || return 1
	kubectl logs -f "$(pod tell)" >"$scratch/followed" 2>&1 &
	local follower=$!
	until_true grep -qx one "$scratch/followed"
	touch "$scratch/go-tell"
	wait $follower && [ "$(cat "$scratch/followed")" = "$(printf 'one\ntwo')" ]
}
check "logs -f" follows
again() { # a container that restarts: each run has a log of its own
	kubectl apply -f - <<-END && finished again Complete
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: again}
		spec:
		  template: {spec: {replicatedJobs: [{name: node, template: {spec: {backoffLimit: 3, template: {spec: {restartPolicy: OnFailure,
		    containers: [{name: node, image: x, command: [sh, -c, 'if [ -e $scratch/again ]; then echo second; else touch $scratch/again; echo first; exit 3; fi']}]}}}}}]}}
		---
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: again}
		spec: {runtimeRef: {name: again, kind: TrainingRuntime}}
	END
	is pod "$(pod again)" '.status.containerStatuses[0].restartCount' 1 && says second "$(pod again)" && says first "$(pod again)" --previous
}
check "logs of a container that restarted, and --previous" again
check "describe: the pod's events, the job's conditions" eval '
	kubectl describe pod "$(pod again)" | grep -q "Started container node" && kubectl describe trainjob again | grep -q AllJobsCompleted'
watches() { # the phases of a pod, as they come
	kubectl get pods -w -o 'jsonpath={.metadata.labels.job-name} {.status.phase}{"\n"}' >"$scratch/watched" 2>&1 &
	local watcher=$!
	until_true test -s "$scratch/watched" && job seen 1 "sleep 0.5" | kubectl apply -f - && finished seen Complete &&
		until_true grep -qx "seen-node-0 Succeeded" "$scratch/watched" && grep -qx "seen-node-0 Running" "$scratch/watched"
	local rc=$?
	kill $watcher
	wait $watcher
	return $rc
}
check "get -w" watches

# ---- suspend, resume, delete ---------------------------------------------------------------------
long() { # NAME: runs until its file `go` is there
	job "$1" 2 "MARK=$1 exec sh -c \"until [ -e $scratch/go-$1 ]; do sleep 0.1; done\"" | kubectl apply -f -
}
suspend() { kubectl patch trainjob "$1" --type merge -p "{\"spec\":{\"suspend\":$2}}"; } # NAME BOOL
check "a job that runs" eval 'long stay && until_true phases_are stay "Running Running"'
check "suspend ends its processes and pods" eval \
	'suspend stay true && until_true phases_are stay "" && until_true none_left stay && until_true is jobset stay ".status.conditions[?(@.type==\"Suspended\")].status" True'
check "... get --local says so, too" eval '"$kftrainer" get --local stay | grep -q "^stay  *Suspended "'
check "resume starts it anew" eval 'suspend stay false && until_true phases_are stay "Running Running"'
check "... and it completes" eval 'touch "$scratch/go-stay" && finished stay Complete'
check "delete ends the processes, and its run is gone" eval \
	'long gone && until_true phases_are gone "Running Running" && kubectl delete trainjob gone && until_true none_left gone &&
	until_true eval "[ ! -e $XDG_STATE_HOME/kftrainer/jobs/default/gone ]" && until_true phases_are gone ""'

# ---- the server ends, its jobs do not ------------------------------------------------------------
check "kill -9: jobs go on" eval '
	long keep && long lost && until_true phases_are keep "Running Running" && until_true phases_are lost "Running Running" &&
	down KILL && two_run keep'
runner() { cut -d" " -f1 "$XDG_STATE_HOME/kftrainer/jobs/default/$1/lock"; } # NAME
check "kill -9 of a run takes its processes" eval 'kill -KILL "$(runner lost)" && until_true none_left lost'
up
check "... it is Failed, Interrupted; so are its pods" eval '
	finished lost Failed && is jobset lost ".status.conditions[?(@.type==\"Failed\")].reason" Interrupted && phases_are lost "Failed Failed"'
check "... the other is found again, and completes" eval \
	'is jobset keep .status.terminalState "" && touch "$scratch/go-keep" && finished keep Complete && phases_are keep "Succeeded Succeeded"'
check "kill -9 of a run while the server looks on" eval '
	long shot && until_true phases_are shot "Running Running" && kill -KILL "$(runner shot)" && finished shot Failed && none_left shot'
check "TERM: jobs go on" eval 'long more && until_true phases_are more "Running Running" && down TERM && two_run more'
touch "$scratch/go-more"
until_true none_left more
up
check "... and one that ended meanwhile is Complete" finished more Complete
check "a job runs once" eval \
	'[ "$(find "$XDG_STATE_HOME/kftrainer/jobs/default/more" -name owner.json | wc -l)" = 1 ]'
check "all can be deleted" eval 'kubectl delete trainjobs --all && until_true eval "! ls $XDG_STATE_HOME/kftrainer/jobs/default/* >/dev/null 2>&1"'
down TERM
finish
