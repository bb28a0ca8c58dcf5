#!/bin/bash
# A whole release, by two users in two folders: the same bytes. What it has for a cluster, on two nodes: the image's
# index is imported, install.yaml is applied, the chart is installed, and each trains a job and is removed.
# shellcheck disable=SC2154 # tests/cluster/lib.sh
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
[ "$(id -u)" = 0 ] || {
	skip "a release" "a second user and nodes take root"
	finish
}
e2e_tidy

# ---- two users -----------------------------------------------------------------------------------
chmod 755 "$scratch"
first=$scratch/first second=$scratch/another/and/longer/second
check "two clones" eval 'git clone -q . "$first" && git clone -q . "$second"'
check "the first release" make -C "$first" release
# The libraries are built again: their compiler's wrapper holds the path of the other user's.
other=12321
mkdir -p "$scratch/home/.cache/kftrainer/sources" "$scratch/home/tmp"
cp -n "$(dirname "$(vendor/sysroot.sh)")"/sources/*_* "$scratch/home/.cache/kftrainer/sources/"
chown -R $other:$other "$scratch/home" "$second"
as_other() {
	(cd "$second" && umask 077 && exec setpriv --reuid $other --regid $other --clear-groups env -i HOME="$scratch/home" \
		PATH="$PATH" TMPDIR="$scratch/home/tmp" TZ=Asia/Kathmandu LANG=de_DE.UTF-8 nice make release)
}
check "... by another user, elsewhere" as_other
check "... has the same bytes" diff -r "$first/build/release" "$second/build/release"
from_archive() {
	mkdir "$scratch/archive" && tar -xf "$(echo "$first"/build/release/*-sources.tar)" -C "$scratch/archive" --strip-components=1 &&
		make -C "$scratch/archive" release
}
check "one from its archive of sources" from_archive
check "... has the same bytes, but for that archive" diff -r -x '*-sources.tar' -x SHA256SUMS "$first/build/release" "$scratch/archive/build/release"
rm -rf "${second:?}" "${scratch:?}/home" "${scratch:?}/archive"

# ---- a cluster -----------------------------------------------------------------------------------
release=$first/build/release
cluster_up "e2e$$"
trap 'e2e_down; rm -rf "$scratch"' EXIT
tests/e2e/images.sh >/dev/null 2>&1
check "two nodes come up" nodes_up
imported() { for i in 1 2; do node $i import "$(echo "$release"/*-image.tar)" || return 1; done; }
check "containerd takes the image's index, and what is for this processor of it" imported
rolled_out() { kc rollout status deployment -n "$trainer_ns" -l app.kubernetes.io/component=manager --timeout=300s; }
trains() { # NAME
	kc create namespace $ns && wait_for 30 k get serviceaccount default >/dev/null && runtimes | k apply -f - >/dev/null 2>&1
	train "$1" "$(sh 2 'echo hello')" && becomes "$1" Complete && kc delete namespace $ns --timeout=300s
}
check "install.yaml is applied" kc apply --server-side -f "$release/install.yaml"
check "... the controller runs" rolled_out
check "... its runtimes are there" kc get clustertrainingruntime torch-distributed
check "... a job is trained" trains applied
check "... it is removed" kc delete --ignore-not-found --timeout=300s -f "$release/install.yaml"
helm() { in_cluster env HELM_CACHE_HOME="$scratch" HELM_CONFIG_HOME="$scratch" HELM_DATA_HOME="$scratch" helm "$@" -n "$trainer_ns"; }
check "the chart is installed" helm install released "$(echo "$release"/kftrainer-*.tgz)" --create-namespace --wait --timeout 300s --set runtimes.defaultEnabled=true
check "... the controller runs" rolled_out
check "... its runtimes are there" kc get clustertrainingruntime torch-distributed
check "... a job is trained" trains charted
check "... it is removed" helm uninstall released --wait --timeout 300s
finish
