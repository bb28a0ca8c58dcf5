#!/bin/bash
# The cluster that the other tests stand on is one, leaves this machine alone and ends.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
cluster_up

node_is() { kc get node control -o "jsonpath={.spec.unschedulable}" | grep -qx true; }
module=kubernetes
[ "${KFT_KUBERNETES:-}" != oldest ] || module=schedulers
version=$(sed -n 's/.*k8s\.io\/kubernetes \(=> .* \)\?\(v[0-9.]*\).*/\2/p' tests/cluster/go/$module/go.mod | tail -n 1)
versions() { kc version | grep -c "$version" | grep -qx 2; }
check "client and server are Kubernetes $version" versions
check "no pod is put anywhere: the only node is closed" node_is

jobset() { # NAME CONTAINERS
	kc create -f - <<-END
		apiVersion: jobset.x-k8s.io/v1alpha2
		kind: JobSet
		metadata: {name: $1}
		spec:
		  replicatedJobs:
		  - name: node
		    replicas: 2
		    template: {spec: {template: {spec: {containers: $2}}}}
	END
}
jobs() { [ "$(kc get jobs -o name | xargs)" = "job.batch/tiny-node-0 job.batch/tiny-node-1" ]; }
pods() { [ "$(kc get pods -o name | wc -l)" = 2 ]; }
defaulted() { kc get jobset tiny -o 'jsonpath={.spec.startupPolicy.startupPolicyOrder}' | grep -qx AnyOrder; }
refused() { jobset a-name-that-leaves-no-place-for-the-names-of-its-pods-and-so-is-refused '[{name: c, image: i}]' |& grep 'too long'; }
check "JobSet's webhook fills in defaults" eval 'jobset tiny "[{name: c, image: i}]" && defaulted'
check "JobSet's webhook refuses an invalid JobSet" refused
check "a JobSet creates Jobs" wait_for 30 jobs
check "a Job creates pods" wait_for 30 pods
podgroup() { kc get crd "podgroups.scheduling.$1"; }
check "PodGroup is known, scheduler-plugins' and Volcano's" eval 'podgroup x-k8s.io && podgroup volcano.sh'

as_kubectl() { # ARGUMENT...: kubectld prints the same as kubectl, and exits the same
	local one two
	kc "$@" >"$scratch/served" 2>&1
	one=$?
	in_cluster kubectl "$@" >"$scratch/started" 2>&1
	two=$?
	diff "$scratch/served" "$scratch/started" && [ $one = $two ]
}
printf '%s\n' 'apiVersion: v1' 'kind: ConfigMap' 'metadata: {name: wrong}' 'dataa: {}' >"$scratch/wrong.yaml"
if [ "$(id -u)" = 0 ]; then
	check "kubectld answers" "${kubectl[@]:0:2}" false -- get namespaces
	for what in "get namespaces -o yaml" "get services,configmaps -A -o name" "get nothing" "get configmap nothing" "get nodes -o wide -l nothing" \
		"create -f $scratch/wrong.yaml" "patch namespace default -p {" "wait node/control --for condition=Ready --timeout 0s"; do
		# shellcheck disable=SC2086
		check "... as kubectl does: $what" as_kubectl $what
	done
fi

service_ip() { in_cluster curl -sf --cacert "$cluster_state/pki/ca.crt" https://10.96.0.1/readyz; }
resolve() { # NAME: the address that CoreDNS has for it
	in_cluster python3 - "$1" <<-'END'
		import socket, struct, sys
		ask = b"\1\2\1\0\0\1" + bytes(6) + b"".join(bytes([len(p)]) + p.encode() for p in sys.argv[1].split(".")) + b"\0\0\1\0\1"
		with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
		    s.settimeout(2)
		    s.sendto(ask, ("10.250.0.1", 53))
		    answer = s.recv(512)
		print(socket.inet_ntoa(answer[-4:]) if struct.unpack(">H", answer[6:8])[0] else "none")
	END
}
dns() { resolve kubernetes.default.svc.cluster.local | grep -x 10.96.0.1; }
check "a Service is reached by its address" service_ip
check "a Service is found by its name" wait_for 20 dns

as() { in_cluster kubectl --kubeconfig "$scratch/somebody" "$@"; }
rights() { # USER GROUP...: is that user, and has no more rights than RBAC gives
	cluster kubeconfig "$scratch/somebody" "$@" && as auth whoami | grep -w "$1" && ! as get secrets
}
account() {
	kc create serviceaccount a-name-with-more-letters-than-a-certificate-could-hold &&
		rights system:serviceaccount:default:a-name-with-more-letters-than-a-certificate-could-hold
}
nobody() { ! rights system:serviceaccount:default:nobody; }
check "an identity of a test's own has the rights of that user" rights somebody people
check "or of that service account" account
check "which must exist" nobody
private() { [ "$(stat -c %a "$cluster_state/admin.kubeconfig" "$cluster_state/pki" | xargs)" = "600 700" ]; }
check "keys are the owner's alone" private
no_way_out() { ! in_cluster curl -s --max-time 2 http://192.0.2.1/; }
not_here() { # an address that is not ours may lead anywhere, but not into the cluster
	! curl -sk --max-time 2 https://10.250.0.1:6443/version | grep gitVersion &&
		! curl -sk --max-time 2 https://127.0.0.1:6443/version
}
check "there is no way out of it" no_way_out
check "and no way in from this machine" not_here

again() {
	cluster stop kube-apiserver &&
		! kc get --raw /readyz --request-timeout 2s &&
		cluster start kube-apiserver && wait_for 60 kc get --raw /readyz && jobs
}
check "the API server can be killed and started again" again

half() { # what a run leaves that is killed while it starts a cluster
	local pid
	KFT_CLUSTERS=$scratch/clusters tests/cluster/cluster.sh "h$$" up &
	pid=$!
	wait_for 30 test -e "$scratch/clusters/h$$/etcd" && kill -9 $pid &&
		KFT_CLUSTERS=$scratch/clusters tests/cluster/cluster.sh "h$$" down &&
		[ ! -e "/run/netns/kft-h$$" ] && [ ! -e "$scratch/clusters/h$$" ]
}
check "a second one, killed half-way, is cleaned up" half
ends() {
	cluster exec sleep 1000 &
	local pid=$!
	cluster_end
	! kill -0 $pid && [ ! -e "/run/netns/kft-$cluster_name" ] && [ ! -e "$cluster_state" ]
}
check "it ends with all that runs in it" ends
finish
