#!/bin/bash
# tests/cluster/cluster.sh NAME up                      starts a control plane
# tests/cluster/cluster.sh NAME down                    ends it, and all that runs in it
# tests/cluster/cluster.sh NAME exec COMMAND...         runs a command in it
# tests/cluster/cluster.sh NAME status                  what runs
# tests/cluster/cluster.sh NAME kubeconfig FILE USER [GROUP]...   its rights, for a client
# tests/cluster/cluster.sh NAME certificate CN NAMES    pki/CN.crt and .key for a server
# tests/cluster/cluster.sh NAME start PROGRAM; stop PROGRAM [SIGNAL]
#
# A control plane in a network namespace of its own, kft-NAME, which has lo, a bridge kft0
# with 10.250.0.1/24 (for the nodes of tests/e2e) and no way out: nothing listens on this
# machine, and several clusters run side by side. State is in ${KFT_CLUSTERS:-build/clusters}/NAME:
# admin.kubeconfig, pki, etcd, log/PROGRAM.log. It takes root, or a sudo that asks no password.
# The first one is set up step by step; what etcd and pki hold then is kept in kftrainer's cache
# folder, and every further one begins with a copy of that.
#
#   API server    https://10.250.0.1:6443, Services 10.96.0.0/16
#   webhooks      reach processes of the namespace by a Service and an EndpointSlice to 10.250.0.1
#   CoreDNS       10.250.0.1:53, cluster.local, nothing beyond
#   JobSet        webhooks active, on 10.250.0.1:9445
#   nodes         none but "control", which takes no pods and stands for the namespace; what it
#                 has not heard of for ${KFT_NODE_GRACE:-60} s counts as gone
#   gangs         where KFT_WORKLOADS is set: Kubernetes' own, of that version of scheduling.k8s.io
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
self=$here/cluster.sh
state_root=${KFT_CLUSTERS:-$here/../../build/clusters}
[[ ${1:-} =~ ^[a-z0-9][a-z0-9-]{0,10}$ ]] || {
	sed -n '2,9s/^# *//p' "$0" >&2
	exit 2
}
name=$1
action=${2:-}
shift
[ $# = 0 ] || shift
ip=10.250.0.1
netns=kft-$name

say() { echo "cluster $name: $*" >&2; }
die() {
	say "$*"
	exit 1
}

if [ "$(id -u)" != 0 ]; then
	sudo -n true 2>/dev/null || die "a network namespace takes root, or a sudo that asks no password"
	cache=$("$here/../../vendor/sysroot.sh")
	exec sudo -n env "PATH=$PATH" "KFT_NODE_GRACE=${KFT_NODE_GRACE:-}" "KFT_GOMEMLIMIT=${KFT_GOMEMLIMIT:-}" \
		"KFT_WORKLOADS=${KFT_WORKLOADS:-}" "KFT_KUBERNETES=${KFT_KUBERNETES:-}" \
		"KFT_CLUSTERS=$state_root" "KFTRAINER_CACHE=${cache%/*}" "$self" "$name" "$action" "$@"
fi
# At Go's default a fifth of the CPU time collects garbage; where more is kept than the limit (thousands of objects),
# nearly all of it: such a test sets another.
export GOGC=400 GOMEMLIMIT=${KFT_GOMEMLIMIT:-800MiB}
mkdir -p "$state_root"
state=$(cd "$state_root" && pwd)/$name
log=$state/log

inside() { nsenter --net="/run/netns/$netns" "$@"; }

# Who is in the cluster is known by the network namespace, not by a number in a file that
# another process may have today: whatever else the test started in it ends as well.
members() { ip netns pids "$netns" 2>/dev/null || true; }

programs_of() { # PROGRAM: its processes in this cluster
	local pid
	for pid in $(members); do
		[ ! "/proc/$pid/exe" -ef "$programs/bin/$1" ] || echo "$pid"
	done
}

# A dead process that nobody has waited for is gone when its last thread is: until then its
# ports are taken.
is_there() { # PID
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	stat=${stat##*) } # from the third field on: the first is the state, the 18th the number of threads
	# shellcheck disable=SC2086
	set -- $stat
	[ "${18}" -gt 1 ] || [ "$1" != Z ]
}

end_all() { # SIGNAL PIDS...: until none is left
	local signal=$1 pid
	shift
	for pid in "$@"; do kill -s "$signal" "$pid" 2>/dev/null || true; done
	for pid in "$@"; do
		while is_there "$pid"; do sleep 0.05; done
	done
}

until_true() { # SECONDS WHAT COMMAND...
	local deadline=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >"$log/wait" 2>&1; do
		[ "$SECONDS" -lt $deadline ] || {
			cat "$log/wait" >&2
			die "$what: not in time; see $log"
		}
		sleep 0.1
	done
	rm -f "$log/wait"
}

# ---- keys ----------------------------------------------------------------------------------------
make_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1" 2>/dev/null; }

sign() { # FILE SUBJECT EXTENSIONS
	[ -e "$pki/$1.key" ] || make_key "$pki/$1.key"
	openssl req -new -key "$pki/$1.key" -subj "$2" -out "$pki/$1.csr"
	openssl x509 -req -in "$pki/$1.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -days 30 \
		-set_serial "0x$(openssl rand -hex 8)" -extfile <(echo "$3") -out "$pki/$1.crt" 2>/dev/null
	rm "$pki/$1.csr"
}

certificate() { # CN NAMES, as openssl writes subjectAltName
	sign "$1" "/CN=$1" "subjectAltName=$2"
}

# A service account's by a token of that account, which must be there; others' by certificate.
credentials() { # USER [GROUP]...
	local user=$1 account=${1#system:serviceaccount:} file=${1//[\/:]/-} groups='' group token
	shift
	if [ "$account" != "$user" ]; then
		token=$(kc create token -n "${account%:*}" "${account#*:}" --duration 720h)
		echo "token: $token"
		return
	fi
	for group in "$@"; do groups+="/O=$group"; done
	sign "$file" "$groups/CN=$user" extendedKeyUsage=clientAuth
	echo "client-certificate-data: $(base64 -w 0 "$pki/$file.crt")"
	echo "    client-key-data: $(base64 -w 0 "$pki/$file.key")"
}

kubeconfig() { # FILE USER [GROUP]...
	local file=$1 user
	shift
	user=$(credentials "$@")
	install -m 600 /dev/null "$file"
	cat >"$file" <<-END
		apiVersion: v1
		kind: Config
		current-context: kft
		contexts: [{name: kft, context: {cluster: kft, user: kft}}]
		clusters:
		- name: kft
		  cluster:
		    server: https://$ip:6443
		    certificate-authority-data: $(base64 -w 0 "$pki/ca.crt")
		users:
		- name: kft
		  user:
		    $user
	END
}

make_pki() {
	mkdir -m 700 "$pki"
	make_key "$pki/ca.key"
	openssl req -x509 -new -key "$pki/ca.key" -subj "/CN=kft" -days 30 -out "$pki/ca.crt"
	openssl genrsa -out "$pki/sa.key" 2048 2>/dev/null
	openssl rsa -in "$pki/sa.key" -pubout -out "$pki/sa.pub" 2>/dev/null
	certificate apiserver "IP:$ip,IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
	certificate jobset DNS:jobset-webhook-service.jobset-system.svc
	sign front-proxy /CN=front-proxy-client extendedKeyUsage=clientAuth
	kubeconfig "$state/admin.kubeconfig" admin system:masters
}

# ---- the programs --------------------------------------------------------------------------------
workload_gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true
# Controllers that no test needs. With all of them an idle cluster takes a tenth of a processor, and several are idle at a time.
no_controllers="certificatesigningrequest-approving certificatesigningrequest-cleaner certificatesigningrequest-signing
	cronjob device-taint-eviction endpointslice-mirroring horizontal-pod-autoscaler kube-apiserver-serving-clustertrustbundle-publisher
	legacy-serviceaccount-token-cleaner persistentvolume-attach-detach persistentvolume-expander podcertificaterequest-cleaner
	replicationcontroller resourcepoolstatusrequest service-cidr storage-version-migrator storageversion-garbage-collector
	ttl volumeattributesclass-protection"
flags_of() { # PROGRAM: one a line
	case $1 in
	etcd)
		cat <<-END
			--name=kft
			--data-dir=$state/etcd
			--listen-client-urls=http://127.0.0.1:2379
			--advertise-client-urls=http://127.0.0.1:2379
			--listen-peer-urls=http://127.0.0.1:2380
			--initial-advertise-peer-urls=http://127.0.0.1:2380
			--initial-cluster=kft=http://127.0.0.1:2380
			--heartbeat-interval=1000
			--election-timeout=5000
			--unsafe-no-fsync
			--log-level=warn
		END
		;;
	kube-apiserver) # Debian's etcd cannot do what WatchList needs: each watch without a version would fail
		cat <<-END
			--etcd-servers=http://127.0.0.1:2379
			--bind-address=0.0.0.0
			--secure-port=6443
			--advertise-address=$ip
			--service-cluster-ip-range=10.96.0.0/16
			--tls-cert-file=$pki/apiserver.crt
			--tls-private-key-file=$pki/apiserver.key
			--client-ca-file=$pki/ca.crt
			--requestheader-client-ca-file=$pki/ca.crt
			--requestheader-allowed-names=front-proxy-client
			--requestheader-username-headers=X-Remote-User
			--requestheader-group-headers=X-Remote-Group
			--requestheader-extra-headers-prefix=X-Remote-Extra-
			--proxy-client-cert-file=$pki/front-proxy.crt
			--proxy-client-key-file=$pki/front-proxy.key
			--kubelet-client-certificate=$pki/admin.crt
			--kubelet-client-key=$pki/admin.key
			--kubelet-preferred-address-types=InternalIP
			--service-account-key-file=$pki/sa.pub
			--service-account-signing-key-file=$pki/sa.key
			--service-account-issuer=https://kubernetes.default.svc.cluster.local
			--authorization-mode=Node,RBAC
			--allow-privileged
			--profiling=false
			--feature-gates=WatchList=false${KFT_WORKLOADS:+,$workload_gates}
			${KFT_WORKLOADS:+--runtime-config=scheduling.k8s.io/$KFT_WORKLOADS=true}
		END
		;;
	kube-controller-manager)
		cat <<-END
			--kubeconfig=$state/admin.kubeconfig
			--service-account-private-key-file=$pki/sa.key
			--root-ca-file=$pki/ca.crt
			--use-service-account-credentials
			--leader-elect=false
			--bind-address=127.0.0.1
			--flex-volume-plugin-dir=$state/flexvolume
			--node-monitor-grace-period=${KFT_NODE_GRACE:-60}s
			--kube-api-qps=500
			--kube-api-burst=1000
			--concurrent-gc-syncs=20
			--concurrent-namespace-syncs=20
			--controllers=*$(printf ',-%s-controller' $no_controllers)
			${KFT_WORKLOADS:+--feature-gates=$workload_gates}
		END
		;;
	kube-scheduler)
		cat <<-END
			--kubeconfig=$state/admin.kubeconfig
			--leader-elect=false
			--bind-address=127.0.0.1
			${KFT_WORKLOADS:+--feature-gates=$workload_gates}
		END
		;;
	kube-proxy) echo "--config=$state/kube-proxy.yaml" ;;
	coredns) echo "-conf=$state/Corefile" ;;
	kubectld) echo "$state/kubectl.sock" ;;
	jobset)
		cat <<-END
			--config=$state/jobset.yaml
			--kubeconfig=$state/jobset.kubeconfig
			--zap-log-level=1
		END
		;;
	*) die "there is no program $1" ;;
	esac
}

start() { # PROGRAM
	local flags
	mapfile -t flags < <(flags_of "$1" | grep .)
	[ ${#flags[@]} -gt 0 ] || exit 1
	inside env "KUBECONFIG=$state/admin.kubeconfig" setsid -f "$programs/bin/$1" "${flags[@]}" >>"$log/$1.log" 2>&1 </dev/null 8>&- 9>&-
}

write_settings() {
	cat >"$state/kube-proxy.yaml" <<-END
		apiVersion: kubeproxy.config.k8s.io/v1alpha1
		kind: KubeProxyConfiguration
		mode: iptables
		hostnameOverride: control
		bindAddress: 0.0.0.0
		healthzBindAddress: 127.0.0.1:10256
		metricsBindAddress: 127.0.0.1:10249
		clientConnection: {kubeconfig: $state/admin.kubeconfig}
		conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
		iptables: {minSyncPeriod: 0s}
	END
	cat >"$state/Corefile" <<-END
		. {
			bind $ip
			errors
			health 127.0.0.1:8088
			ready 127.0.0.1:8181
			kubernetes cluster.local in-addr.arpa {
				kubeconfig $state/admin.kubeconfig
				pods insecure
				ttl 0
			}
		}
	END
	cat >"$state/jobset.yaml" <<-END
		apiVersion: config.jobset.x-k8s.io/v1alpha1
		kind: Configuration
		leaderElection: {leaderElect: false}
		webhook: {port: 9445, certDir: $pki/jobset}
		health: {healthProbeBindAddress: "127.0.0.1:8091"}
		metrics: {bindAddress: "127.0.0.1:8092"}
		internalCertManagement: {enable: false}
		clientConnection: {qps: 500, burst: 1000}
	END
	mkdir -p "$pki/jobset"
	ln -f "$pki/jobset.crt" "$pki/jobset/tls.crt"
	ln -f "$pki/jobset.key" "$pki/jobset/tls.key"
}

# ---- what is in it from the start ----------------------------------------------------------------
kc() { inside "$programs/bin/kubectl" --kubeconfig="$state/admin.kubeconfig" "$@"; }
# For what is asked again and again: a third of kubectl's CPU time.
ask() { # PATH [CURL'S ARGUMENTS]: succeeds if the answer does
	inside curl -sSf --max-time 30 --cacert "$pki/ca.crt" --cert "$pki/admin.crt" --key "$pki/admin.key" \
		"https://$ip:6443$1" "${@:2}"
}

control_node() {
	cat <<-END
		apiVersion: v1
		kind: Node
		metadata:
		  name: control
		  labels: {node-role.kubernetes.io/control-plane: ""}
		spec:
		  unschedulable: true
		  taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]
		status:
		  addresses: [{type: InternalIP, address: $ip}]
	END
}

# JobSet's objects as released, less its Deployment: the controller is a process here, and
# its certificate is ours.
jobset_objects() {
	/usr/bin/python3 - "$programs/manifests/jobset.yaml" "$pki/ca.crt" <<-'END'
		import base64, sys, yaml
		ca = base64.b64encode(open(sys.argv[2], "rb").read()).decode()
		for o in yaml.load_all(open(sys.argv[1]), getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
		    if o["kind"] == "Deployment":
		        continue
		    for webhook in o.get("webhooks", []):
		        webhook["clientConfig"]["caBundle"] = ca
		    print("---")
		    print(yaml.dump(o, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)), end="")
	END
	cat <<-END
		---
		apiVersion: discovery.k8s.io/v1
		kind: EndpointSlice
		metadata:
		  name: jobset-webhook-process
		  namespace: jobset-system
		  labels: {kubernetes.io/service-name: jobset-webhook-service}
		addressType: IPv4
		ports: [{name: "", port: 9445, protocol: TCP}]
		endpoints: [{addresses: [$ip], conditions: {ready: true}}]
	END
}

a_jobset() {
	ask '/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets?dryRun=All' -H 'Content-Type: application/yaml' \
		--data-binary @- <<-END
			apiVersion: jobset.x-k8s.io/v1alpha2
			kind: JobSet
			metadata: {name: probe, namespace: default}
			spec:
			  replicatedJobs:
			  - name: a
			    template: {spec: {template: {spec: {containers: [{name: a, image: a}]}}}}
		END
}

# ---- actions -------------------------------------------------------------------------------------
network() {
	ip netns add "$netns"
	inside ip link set lo up
	inside ip link add kft0 type bridge
	inside ip addr add $ip/24 dev kft0
	inside ip link set kft0 up
	inside ip route add 10.96.0.0/16 dev kft0 src $ip
	inside sysctl -q -w net.ipv4.ip_forward=1
}

# Step by step, which takes the API server several starts' worth of work.
set_up() {
	make_pki
	write_settings
	start etcd
	start kube-apiserver
	jobset_objects >"$state/objects.yaml"
	until_true 120 "the API server" ask /readyz
	control_node | kc create -f - >/dev/null
	for program in kube-controller-manager kube-proxy; do start $program; done
	kc create -f "$state/objects.yaml" -f "$programs/manifests/scheduling.x-k8s.io_podgroups.yaml" \
		-f "$programs/manifests/volcano-podgroup.yaml" >"$log/objects"
	kubeconfig "$state/jobset.kubeconfig" system:serviceaccount:jobset-system:jobset-controller-manager
	start jobset
	until_true 120 "JobSet's webhooks" a_jobset
	until_true 60 "the namespaces' accounts" kc get serviceaccount default -n jobset-system
}

# What set_up() made, with nothing running on it. Its certificates are good for 30 days.
snapshot() {
	local cache dir key
	cache=$("$here/../../vendor/sysroot.sh")
	key=$({ echo "$programs"; cat "$self"; } | sha256sum | cut -c 1-12)
	dir=${cache%/*}/cluster-state-$key
	exec 8>"$dir.lock"
	flock 8
	[ -z "$(find "$dir/.done" -mtime -20 2>/dev/null)" ] || {
		echo "$dir"
		return
	}
	set_up >&2
	end_all TERM "$(programs_of etcd)"
	# shellcheck disable=SC2046
	end_all KILL $(members)
	rm -rf "$dir" "$dir.part"
	mkdir -m 700 "$dir.part"
	mv "$state/pki" "$state/etcd" "$state"/{admin,jobset}.kubeconfig "$dir.part/"
	touch "$dir.part/.done"
	mv "$dir.part" "$dir"
	echo "$dir"
}

up() {
	local from
	[ ! -e "$state/up" ] || [ -z "$(members)" ] || return 0
	[ -e "$state" ] || [ ! -e "/run/netns/$netns" ] || die "another checkout has one of this name"
	down
	mkdir -p "$log"
	echo "$programs" >"$state/programs"
	network
	from=$(snapshot 9>&-) || exit 1
	cp -a "$from"/{pki,etcd,admin.kubeconfig,jobset.kubeconfig} "$state/"
	write_settings
	for program in etcd kube-apiserver; do start $program; done
	until_true 120 "the API server" ask /readyz
	for program in kube-controller-manager kube-scheduler kube-proxy coredns jobset kubectld; do start $program; done
	until_true 120 "JobSet's webhooks" a_jobset
	touch "$state/up"
}

down() {
	local pids tries
	for tries in 1 2 3 4 5; do
		pids=$(members)
		[ -n "$pids" ] || break
		# shellcheck disable=SC2086
		end_all KILL $pids
	done
	[ -z "$(members)" ] || die "there is a process in it that does not end: $(members | xargs)"
	[ ! -e "/run/netns/$netns" ] || ip netns del "$netns" || rm -f "/run/netns/$netns"
	rm -rf "$state"
}

status() {
	[ -e "$state/up" ] || die "is not up"
	local program pid
	for program in etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy coredns jobset kubectld; do
		pid=$(programs_of $program | xargs)
		printf '%-24s %s\n' $program "${pid:-ended; see $log/$program.log}"
	done
}

if [ "$action" = up ]; then
	programs=$("$here/programs.sh")
elif [ "$action" != down ]; then # those that it was started with
	programs=$(cat "$state/programs" 2>/dev/null || "$here/programs.sh")
fi
pki=$state/pki
exec 9>"$state.lock"
case $action in
up)
	flock 9
	up
	;;
down)
	flock 9
	[ -e "$state" ] || [ ! -e "/run/netns/$netns" ] || die "it is another checkout's"
	down
	rm -f "$state.lock"
	;;
exec)
	[ -e "/run/netns/$netns" ] || die "is not up"
	exec 9>&-
	exec nsenter --net="/run/netns/$netns" env KUBECONFIG="$state/admin.kubeconfig" \
		"PATH=$programs/bin:$PATH" "$@"
	;;
status) status ;;
kubeconfig) kubeconfig "$@" ;;
certificate) certificate "$@" ;;
start) start "$1" ;;
stop)
	# shellcheck disable=SC2046
	end_all "${2:-KILL}" $(programs_of "$1")
	;;
*) die "what should be done: up, down, exec, status, kubeconfig, certificate, start or stop?" ;;
esac
