#!/bin/bash
# tests/e2e/node-init.sh NODE DISK PROGRAMS
#
# The first process of a node (see node.sh), in namespaces of its own. Makes a root in which
# of this machine only /usr, /etc (to read), /dev and /sys are, then starts the programs:
#
#   /etc/node            settings               DISK/etc
#   /opt/programs                               PROGRAMS
#   /opt/cache             kftrainer's cache folder, for pods that mount an environment of tests/setup.sh
#   /var/lib/containerd, /var/lib/kubelet       DISK
#   /var/log, /host/log  logs of pods, of programs
set -euo pipefail
node=$1 disk=$2 programs=$3
root=$disk/root
log=$(dirname "$disk")/log

place() { # FROM TO [OPTIONS]
	mkdir -p "$root$2"
	mount --rbind "$1" "$root$2"
	[ -z "${3:-}" ] || mount -o "remount,bind,$3" "$root$2"
}

mkdir -p "$root"
mount -t tmpfs -o mode=755 node "$root"
mkdir -p "$root"/{proc,run/lock,run/netns,tmp,old,root}
chmod 1777 "$root/tmp"
for link in /bin /sbin /lib /lib32 /lib64 /libx32; do
	[ ! -L $link ] || cp -P $link "$root/"
	[ -L $link ] || [ ! -d $link ] || place $link $link
done
place /usr /usr ro
place /dev /dev
place /sys /sys
# /etc is a copy: a place for mounts that this machine need not have.
mkdir "$root/etc"
cp -a /etc/{alternatives,ld.so.cache,passwd,group,nsswitch.conf,protocols,services,ssl} "$root/etc/" 2>/dev/null || true
echo "127.0.0.1 localhost $node" >"$root/etc/hosts"
cp "$disk/etc/resolv.conf" "$root/etc/"
place "$disk/etc" /etc/node
place "$programs" /opt/programs ro
place "${programs%/*/*}" /opt/cache ro
place "$disk/containerd" /var/lib/containerd
place "$disk/kubelet" /var/lib/kubelet
place "$disk/log" /var/log
place "$log" /host/log
mount -t proc proc "$root/proc"

# Kubelet sets these for the whole machine. Here it gets files of its own.
mkdir "$root/run/sysctl"
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
	kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
	file=$root/run/sysctl/$(tr / - <<<"${setting%=*}")
	echo "${setting#*=}" >"$file"
	mount --bind "$file" "$root/proc/sys/${setting%=*}"
done
echo 1 >"$root/proc/sys/net/ipv4/ip_forward"
hostname "$node"

cd "$root"
pivot_root . old
umount -l /old
rmdir /old
mount --make-rshared /

export PATH=/opt/programs:/usr/sbin:/usr/bin:/sbin:/bin
keep() { # PROGRAM ARGUMENT...: started again when it ends
	while :; do
		"$@" >>"/host/log/$node-$1.log" 2>&1 </dev/null || true
		sleep 1
	done
}
keep containerd -c /etc/node/containerd.toml &
until [ -S /run/containerd/containerd.sock ]; do sleep 0.05; done
keep kubelet --config=/etc/node/kubelet.yaml --kubeconfig=/etc/node/kubelet.kubeconfig \
	--hostname-override="$node" --node-ip="$(hostname -I | cut -d ' ' -f 1)" &
keep kube-proxy --config=/etc/node/proxy.yaml &
wait
