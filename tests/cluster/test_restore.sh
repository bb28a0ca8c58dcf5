#!/bin/bash
# What somebody deletes or changes of a job's objects comes back.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
cluster_shared
ns=restore-$$
check "the controller starts" controller_up
kc create namespace $ns >/dev/null

trainjob() { # NAME RUNTIME SUSPEND
	kc create -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1, namespace: $ns}
		spec: {runtimeRef: {name: $2}, suspend: $3, trainer: {numNodes: 2}}
	END
}
there() { kc get -n $ns "$@"; }
is() { # WANTED JSONPATH OBJECT: it says so
	[ "$(kc get -n $ns "$3" -o "jsonpath={$2}")" = "$1" ] || { kc get -n $ns "$3" -o yaml; return 1; }
}
comes_back() { # KIND NAME: another one, after it was deleted
	local uid
	uid=$(kc get -n $ns "$1" "$2" -o 'jsonpath={.metadata.uid}') && kc delete -n $ns "$1" "$2" || return 1
	[ -z "${touch:-}" ] || kc annotate -n $ns pods -l jobset.sigs.k8s.io/jobset-name=mpi --overwrite "touched=$RANDOM"
	wait_for 40 eval "! is '$uid' .metadata.uid $1/$2 >/dev/null && there $1 $2"
}
change() { kc patch -n $ns --type merge "$@"; }
mended() { is Suspended '.status.state' trainjob/asleep && is True '.status.conditions[?(@.type=="Suspended")].status' trainjob/asleep; }

check "a job with a host file, keys and pods" trainjob mpi deepspeed-distributed false
check "... has them" wait_for 60 eval "there cm mpi-mpi-hostfile mpi-runtime-snapshot && there secret mpi-mpi-ssh-auth &&
	there pods -l jobset.sigs.k8s.io/jobset-name=mpi -o name | grep -q ."
check "a deleted host file" comes_back cm mpi-mpi-hostfile
check "a deleted snapshot" comes_back cm mpi-runtime-snapshot
change cm/mpi-mpi-hostfile -p '{"data": {"hostfile": "mine"}}' >/dev/null
check "a changed host file" wait_for 40 eval '! is mine .data.hostfile cm/mpi-mpi-hostfile >/dev/null'
touch=yes check "a deleted Secret, once a pod waits" comes_back secret mpi-mpi-ssh-auth
check "a suspended job" trainjob asleep torch-distributed true
check "... is reported" wait_for 60 mended
kc label -n $ns jobset asleep trainer.test/added=x >/dev/null
for change in '{"status": null}' '{"status": {"conditions": []}}' '{"status": {"state": "Running"}}'; do
	change trainjob/asleep --subresource=status -p "$change" >/dev/null
	check "a status that was changed: $change" wait_for 40 mended
done
check "no field of ours is unknown to the API server" eval '! grep -F "API server warning" "$controller_log"'
controller_down
finish
