#!/bin/bash
# Data caches: what initialize-dataset makes of cache://, with LeaderWorkerSet's own controller, and the cache in
# the pods of a job. No kubelet runs the pods: what one would report is written by hand. tests/e2e/test_cache.sh
# runs them.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/cluster/with_lws.sh
. "$(dirname "$0")/with_lws.sh"
cluster_up
install_flags='--runtime torch-distributed-with-cache --runtime torch-distributed-with-cache-jobs --crds --controller
	--cache-namespace caches'
kc create namespace caches >/dev/null
ns=caches
check "the controller serves" controller_up

# ---- the initializer -----------------------------------------------------------------------------
job() { # NAME RUNTIME
	kc create -n $ns -f - >"$scratch/created" 2>&1 <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1}
		spec:
		  runtimeRef: {name: $2}
		  suspend: ${3:-false}
		  trainer: {numNodes: 2}
		  initializer:
		    dataset:
		      storageUri: cache://schema/table
		      env:
		      - {name: METADATA_LOC, value: /data/table}
		      - {name: CLUSTER_SIZE, value: "3"}
	END
}

# As its pod would run it, with the rights of its ServiceAccount; what it says is in $scratch/init.
initialize() { # JOB [VARIABLE=VALUE]...
	local job=$1
	shift
	in_cluster env KUBECONFIG="${rights:-$scratch/initializer.kubeconfig}" TRAIN_JOB_NAME="$job" CACHE_IMAGE=cache:1 \
		METADATA_LOC=/data/table CLUSTER_SIZE=3 IAM_ROLE=arn:role "$@" \
		"$kftrainer" initialize-dataset --uri cache://schema/table >"$scratch/init" 2>&1
	status=$?
	cat "$scratch/init"
	return $status
}
said() { grep -qE -e "$1" "$scratch/init"; }
fails() { # WHAT COMMAND...: with exit code 1, and says it
	local what=$1
	shift
	"$@"
	[ $? = 1 ] && said "$what"
}
account() { # in $ns; its kubeconfig has that namespace
	cluster kubeconfig "$scratch/$1.kubeconfig" "system:serviceaccount:$ns:$1" &&
		sed -i "s/user: kft}}\]/user: kft, namespace: $ns}}]/" "$scratch/$1.kubeconfig"
}
of_set() { echo "leaderworkerset.sigs.k8s.io/name=$1"; }
pods_of() { kc get pods -n $ns -l "$(of_set "$1")" -o name | wc -l; }
count() { [ "$("$@")" = "$expected" ]; }
field() { kc get -n $ns "$1" -o "jsonpath=$2"; }
owned() { # KIND/NAME JOB
	[ "$(field "$1" '{.metadata.ownerReferences[*].uid} {.metadata.ownerReferences[*].controller}')" = "$(field "trainjob/$2" '{.metadata.uid}') true" ]
}
selects() { # SERVICE REGEX: exactly one pod of that name
	kc get pods -n $ns -o name -l "$(field "service/$1" '{.spec.selector}' | tr -d '{}"' | tr : =)" >"$scratch/selected"
	cat "$scratch/selected"
	[ "$(wc -l <"$scratch/selected")" = 1 ] && grep -qEx "pod/$2" "$scratch/selected"
}
ready='{"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}],
	"conditions": [{"type": "Ready", "status": "True"}],
	"containerStatuses": [{"name": "c", "image": "i", "imageID": "i", "restartCount": 0, "ready": true, "started": true,
	"state": {"running": {}}}]}'

account kubeflow-trainer-cache-initializer
mv "$scratch/kubeflow-trainer-cache-initializer.kubeconfig" "$scratch/initializer.kubeconfig"
wait_for 30 account default
job tj torch-distributed-with-cache true
check "without LeaderWorkerSet: it fails, and says what else there is" fails torch-distributed-with-cache-jobs initialize tj
check "LeaderWorkerSet's controller" lws_up

initialize tj &
first=$!
expected=3
check "a head and two workers come" wait_for 60 count pods_of tj-cache
check "... are ready" report_pods $ns "$(of_set tj-cache)" "$ready"
check "the initializer ends once the set is available" wait $first
for object in serviceaccount/tj-cache leaderworkerset/tj-cache service/tj-cache-service; do
	check "$object is the TrainJob's" owned $object tj
done
check "the Service selects the head" selects tj-cache-service tj-cache-0
variables() { # POD: what the controller adds is what the head reads
	field "pod/$1" '{range .spec.containers[0].env[*]}{.name}={.value}{"\n"}{end}' >"$scratch/env" &&
		grep -qx 'LWS_GROUP_SIZE=3' "$scratch/env" && grep -qx "LWS_LEADER_ADDRESS=tj-cache-0.tj-cache.$ns" "$scratch/env" &&
		grep -qx 'METADATA_LOC=/data/table' "$scratch/env"
}
check "the head has the variables of a LeaderWorkerSet" variables tj-cache-0
check "a second time: everything stays" initialize tj
check "... and it says so" [ "$(grep -c ': unchanged$' "$scratch/init")" = 3 ]

job late torch-distributed-with-cache true
check "a deadline: it fails, with the reason" fails 'LeaderWorkerSet .*late-cache is not available after 2s' initialize late CACHE_TIMEOUT=2s
check "... what it has made is the TrainJob's" owned leaderworkerset/late-cache late

job other torch-distributed-with-cache true
kc create service clusterip -n $ns other-cache-service --tcp 1 >/dev/null
check "a foreign object of that name: it fails" fails "Service $ns/other-cache-service exists and is not controlled" initialize other
check "... and the object stays as it is" [ -z "$(field service/other-cache-service '{.metadata.ownerReferences}')" ]
rights=$scratch/default.kubeconfig
check "no right: it fails, and says which" fails 'user system:serviceaccount:caches:default may not get trainjobs' initialize other
kc create role -n $ns reader --verb get --resource trainjobs.trainer.kubeflow.org >/dev/null
kc create rolebinding -n $ns reader --role reader --serviceaccount $ns:default >/dev/null
check "no right to create: the same" wait_for 20 fails 'may not create serviceaccounts' initialize other
rights=
check "no such TrainJob: it fails" fails 'trainjobs.* not found' initialize nobody

kc delete trainjob -n $ns tj --wait=false >/dev/null
gone() { ! kc get -n $ns leaderworkerset/tj-cache && ! kc get -n $ns service/tj-cache-service && ! kc get -n $ns serviceaccount/tj-cache; }
check "the cache goes with its TrainJob" wait_for 60 gone

# ---- in the pods of the job ----------------------------------------------------------------------
of_job() { echo "jobset.sigs.k8s.io/jobset-name=pods,jobset.sigs.k8s.io/replicatedjob-name=$1"; }
n_pods() { kc get pods -n $ns -l "$(of_job "$1")" -o name | wc -l; }
job pods torch-distributed-with-cache-jobs
check "the Service" wait_for 30 owned service/pods-cache-service pods
check "three pods for the cache" wait_for 60 count n_pods dataset-initializer
check "... and none that trains" [ "$(n_pods node)" = 0 ]
check "... are ready" report_pods $ns "$(of_job dataset-initializer)" "$ready"
expected=2
check "then two nodes" wait_for 60 count n_pods node
check "the Service selects the head" selects pods-cache-service 'pods-dataset-initializer-0-0-[a-z0-9]{5}'
check "the nodes end" report_pods $ns "$(of_job node)" '{"phase": "Succeeded"}'
complete() { [ "$(field trainjob/pods '{.status.conditions[?(@.type=="Complete")].status}')" = True ]; }
check "the TrainJob is complete, though the cache runs" wait_for 60 complete
expected=0
check "... which is ended" wait_for 60 count n_pods dataset-initializer

kc create service clusterip -n $ns taken-cache-service --tcp 1 >/dev/null
job taken torch-distributed-with-cache-jobs
refused() { kc get events -n $ns -o 'jsonpath={range .items[*]}{.message}{"\n"}{end}' | grep 'Service taken-cache-service exists and is not controlled by TrainJob taken'; }
check "a foreign Service: an event says so" wait_for 30 refused
finish
