#!/bin/bash
# tests/e2e/node.sh NAME I up          a node of the cluster NAME, whose control plane is up; I: 1 to 9
# tests/e2e/node.sh NAME I down        ends it, and removes all of it
# tests/e2e/node.sh NAME I poweroff    from one moment to the next; its disk stays, for `up`
# tests/e2e/node.sh NAME I enter COMMAND...   runs a command on it
# tests/e2e/node.sh NAME I import FILE        an image, from an archive
#
# A node nI is containerd, kubelet and kube-proxy in network, mount, host name and process
# namespaces of their own, with a root of its own (node-init.sh), so that nothing of it is
# seen on this machine but its cgroups /kft-NAME-nI and the processes. Its address is
# 10.250.0.1I on the cluster's bridge; its pods have 10.251.I.0/24. Its disk is the folder
# of the cluster's state nI, which lies beside log/nI-*.log. It takes root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[[ ${1:-} =~ ^[a-z0-9][a-z0-9-]{0,10}$ && ${2:-} =~ ^[1-9]$ ]] || {
	sed -n '2,6s/^# *//p' "$0" >&2
	exit 2
}
name=$1 i=$2 action=${3:-}
shift $(($# < 3 ? $# : 3))
node=n$i
netns=kft-$name-$node
link=kft0n$i
control_ip=10.250.0.1
ip=10.250.0.1$i

die() {
	echo "node $node of $name: $*" >&2
	exit 1
}
state=$(cd "${KFT_CLUSTERS:-$here/../../build/clusters}/$name" 2>/dev/null && pwd) ||
	[ "$action" = down ] || die "there is no such cluster"
disk=$state/$node

cluster() { "$here/../cluster/cluster.sh" "$name" "$@"; }
in_control() { nsenter --net="/run/netns/kft-$name" "$@"; }

# ---- cgroups: one hierarchy (v2), or one a controller, or both -----------------------------------
hierarchies() { awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/self/mounts; }

make_cgroups() {
	local dir file
	for dir in $(hierarchies); do
		if [ -e "$dir/cgroup.subtree_control" ]; then
			for file in $(<"$dir/cgroup.controllers"); do
				echo "+$file" >"$dir/cgroup.subtree_control" 2>/dev/null || true
			done
		fi
		mkdir -p "$dir/$netns"
		# A new cpuset of v1 is empty, and takes no process.
		for file in cpuset.cpus cpuset.mems; do
			[ ! -e "$dir/cpuset.sched_load_balance" ] || cat "$dir/$file" >"$dir/$netns/$file"
		done
	done
}

remove_cgroups() {
	local dir pid
	for dir in $(hierarchies); do
		[ -e "$dir/$netns" ] || continue
		find "$dir/$netns" -name cgroup.procs -exec cat {} + 2>/dev/null | while read -r pid; do
			kill -KILL "$pid" 2>/dev/null || true
		done
		for _ in $(seq 100); do
			find "$dir/$netns" -depth -type d -exec rmdir {} + 2>/dev/null || true
			[ -e "$dir/$netns" ] || break
			sleep 0.05
		done
		[ ! -e "$dir/$netns" ] || die "$dir/$netns cannot be removed"
	done
}

# ---- network -------------------------------------------------------------------------------------
make_network() {
	local other
	ip netns add "$netns"
	in_control ip link add "$link" type veth peer name eth0 netns "$netns"
	in_control ip link set "$link" master kft0 up
	in_control ip route replace "10.251.$i.0/24" via "$ip"
	for other in 1 2 3 4 5 6 7 8 9; do
		[ "$other" = "$i" ] || echo "route add 10.251.$other.0/24 via 10.250.0.1$other"
	done | ip -n "$netns" -batch <(
		echo "link set lo up"
		echo "addr add $ip/24 dev eth0"
		echo "link set eth0 up"
		echo "route add default via $control_ip"
		cat
	)
}

remove_network() {
	[ ! -e "/run/netns/kft-$name" ] || {
		in_control ip link del "$link" 2>/dev/null || true
		in_control ip route del "10.251.$i.0/24" 2>/dev/null || true
	}
	[ ! -e "/run/netns/$netns" ] || ip netns del "$netns"
}

# ---- settings: paths as they are inside ----------------------------------------------------------
write_settings() {
	local etc=$disk/etc
	mkdir -p "$etc/cni"
	echo "nameserver $control_ip" >"$etc/resolv.conf"
	cp "$state/pki/ca.crt" "$etc/"
	[ -e "$etc/kubelet.kubeconfig" ] || {
		cluster kubeconfig "$etc/kubelet.kubeconfig" "system:node:$node" system:nodes
		cluster kubeconfig "$etc/proxy.kubeconfig" system:kube-proxy
	}
	cat >"$etc/cni/10-bridge.conflist" <<-END
		{"cniVersion": "0.4.0", "name": "pods", "plugins": [
			{"type": "bridge", "bridge": "pods0", "isGateway": true, "hairpinMode": true, "ipam": {
				"type": "host-local", "dataDir": "/run/ipam",
				"ranges": [[{"subnet": "10.251.$i.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
			{"type": "portmap", "capabilities": {"portMappings": true}}]}
	END
	# restrict_oom_score_adj: without CAP_SYS_RESOURCE runc may not lower it, and dies.
	cat >"$etc/containerd.toml" <<-END
		version = 2
		root = "/var/lib/containerd"
		state = "/run/containerd"
		[grpc]
		address = "/run/containerd/containerd.sock"
		[plugins."io.containerd.grpc.v1.cri"]
		sandbox_image = "kft.local/pause:1"
		disable_apparmor = true
		restrict_oom_score_adj = true
		disable_hugetlb_controller = true
		[plugins."io.containerd.grpc.v1.cri".cni]
		bin_dir = "/usr/lib/cni"
		conf_dir = "/etc/node/cni"
		[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
		runtime_type = "io.containerd.runc.v2"
	END
	cat >"$etc/kubelet.yaml" <<-END
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		authentication:
		  anonymous: {enabled: false}
		  webhook: {enabled: true}
		  x509: {clientCAFile: /etc/node/ca.crt}
		authorization: {mode: Webhook}
		cgroupDriver: cgroupfs
		cgroupRoot: /$netns
		failCgroupV1: false
		failSwapOn: false
		containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
		clusterDNS: [$control_ip]
		clusterDomain: cluster.local
		resolvConf: /etc/node/resolv.conf
		volumePluginDir: /var/lib/kubelet/volumeplugins
		imageGCHighThresholdPercent: 100
		evictionHard: {memory.available: 100Mi, nodefs.available: 1Gi, imagefs.available: 1Gi}
		${KFT_NODE_GRACE:+nodeLeaseDurationSeconds: 12 # a lost node is noticed soon}
		shutdownGracePeriod: 0s
		featureGates: {KubeletCrashLoopBackOffMax: true}
		crashLoopBackOff: {maxContainerRestartPeriod: 2s}
	END
	cat >"$etc/proxy.yaml" <<-END
		apiVersion: kubeproxy.config.k8s.io/v1alpha1
		kind: KubeProxyConfiguration
		mode: iptables
		hostnameOverride: $node
		bindAddress: 0.0.0.0
		clusterCIDR: 10.251.0.0/16
		clientConnection: {kubeconfig: /etc/node/proxy.kubeconfig}
		conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
		iptables: {minSyncPeriod: 0s}
	END
}

# Files of the images are shared with the cache by hard links: containerd's overlays never
# change what lies below them. Its databases are copies.
make_disk() {
	local images file
	[ ! -e "$disk/containerd" ] || return 0
	images=$("$here/images.sh")
	mkdir -p "$disk"/{kubelet,log}
	cp -al "$images" "$disk/containerd.part" 2>/dev/null || {
		rm -rf "$disk/containerd.part"
		cp -a "$images" "$disk/containerd.part"
	}
	find "$disk/containerd.part" -maxdepth 2 -name '*.db' | while read -r file; do
		cp "$file" "$file.own"
		mv "$file.own" "$file"
	done
	mv "$disk/containerd.part" "$disk/containerd"
}

# ---- actions -------------------------------------------------------------------------------------
init_pid() { # the first process of its PID namespace, or nothing
	local pid
	for pid in $(ip netns pids "$netns" 2>/dev/null); do
		[[ $(sed -n 's/^NSpid://p' "/proc/$pid/status" 2>/dev/null) != *[[:space:]]1 ]] || echo "$pid"
	done | head -n 1
}

enter() { # COMMAND...
	local pid
	pid=$(init_pid)
	[ -n "$pid" ] || die "is not up"
	exec nsenter -t "$pid" -m -u -n -p env -i \
		"PATH=/opt/programs:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
		CONTAINERD_ADDRESS=/run/containerd/containerd.sock CONTAINERD_NAMESPACE=k8s.io "$@"
}

is_up() {
	(enter curl -fsS http://127.0.0.1:10248/healthz) &&
		cluster exec kubectl wait --for=create "node/$node" --timeout=60s &&
		cluster exec kubectl wait --for=condition=Ready "node/$node" --timeout=60s
}

# The end of a PID namespace's first process is that of all: pods, too.
poweroff() {
	local pids pid
	pids=$(ip netns pids "$netns" 2>/dev/null || true)
	for pid in $pids; do kill -KILL "$pid" 2>/dev/null || true; done
	for pid in $pids; do
		while [ -e "/proc/$pid" ] && ! grep -qs '^State:.Z' "/proc/$pid/status"; do sleep 0.02; done
	done
	remove_network
	remove_cgroups
}

up() {
	local programs tries=0
	[ -e "$state/up" ] || die "the control plane is not up"
	[ -z "$(init_pid)" ] || return 0
	programs=$(cat "$state/programs")/bin
	poweroff
	make_disk
	write_settings
	make_cgroups
	make_network
	nsenter --net="/run/netns/$netns" setsid -f unshare --mount --propagation private --uts --pid \
		--fork --kill-child "$here/node-init.sh" "$node" "$disk" "$programs" \
		>>"$state/log/$node-init.log" 2>&1 </dev/null
	until is_up >"$state/log/$node-wait.log" 2>&1; do
		[ $((tries += 1)) -lt 1000 ] || {
			cat "$state/log/$node-wait.log" >&2
			die "does not come up; see $state/log/$node-*.log"
		}
		sleep 0.3
	done
}

case $action in
up) up ;;
poweroff) poweroff ;;
down)
	poweroff
	[ -z "$state" ] || rm -rf "$disk"
	;;
enter) enter "$@" ;;
import) (enter ctr images import - <"$1" >/dev/null) ;;
*) die "what should be done: up, down, poweroff, enter or import?" ;;
esac
