#!/bin/bash
# tests/cluster/programs.sh
#
# Builds what the tests' cluster consists of, once, and prints the folder: bin/ has
# etcd and containerd (Debian's, unpacked, so that no daemon of theirs is installed),
# Kubernetes, CoreDNS, helm, the JobSet controller and Kueue's (from go/NAME/go.mod, whose
# go.sum pins all of it), manifests/ has JobSet's and Kueue's objects and the PodGroup CRDs.
# go/kubernetes is the newest Kubernetes. go/schedulers is the oldest supported one, to which the schedulers
# of gangs are tied: scheduler-plugins' (coscheduling, and controller, which keeps its PodGroups) and YuniKorn
# (shim); volcano reads Volcano's PodGroups with Volcano's types. kubectld is kubectl as a server, and kubectlc asks it.
# KFT_KUBERNETES=oldest builds Kubernetes from go/schedulers, into a folder of its own.
# The last part of the folder's name is a checksum of what decides what is built.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$("$here/../../vendor/sysroot.sh")
cache=${cache%/*}
# shellcheck source=tests/go.sh
. "$here/../go.sh"
case ${KFT_KUBERNETES:-newest} in
newest) module=kubernetes ;;
oldest) module=schedulers ;;
*)
	echo "cluster: KFT_KUBERNETES=$KFT_KUBERNETES: expected newest or oldest" >&2
	exit 2
	;;
esac
podgroups=sigs.k8s.io/scheduler-plugins@v0.34.7
podgroups_sha256=e87980a29866bbf8a4df5452e03d876b6ae952c80b5443abdfaacee3b9adf60c

say() { echo "cluster: $*" >&2; }
die() {
	say "$*"
	exit 1
}

key=$(
	cd "$here"
	{
		echo "$GOARCH $toolchain $GOFLAGS $module"
		cat programs.sh volcano-podgroup.yaml go/*/go.mod go/*/go.sum go/*/*.go go/*/*/*.go
	} | sha256sum | cut -c 1-12
)
dir=$cache/cluster-$key
[ ! -e "$dir/.done" ] || {
	echo "$dir"
	exit
}

# A log for each step; it is shown when the step fails.
step() { # WHAT COMMAND...
	local what=$1 start=$SECONDS
	shift
	say "$what"
	if ! "$@" >"$part/log" 2>&1 </dev/null; then
		tail -n 20 "$part/log" >&2
		die "$what: failed after $((SECONDS - start)) s"
	fi
}

# The folder's packages, of the versions that a go.mod pins.
build() { # FOLDER MODULE PACKAGE...
	local version
	version=$(sed -n 's/.*k8s\.io\/kubernetes \(=> .* \)\?\(v[0-9.]*\).*/\2/p' "$here/go/$2/go.mod" | tail -n 1)
	cd "$here/go/$1"
	nice -n 5 "$go" build -modfile "../$2/go.mod" -o "$part/bin/" -ldflags \
		"-s -w -X k8s.io/component-base/version.gitVersion=$version" "${@:3}"
}

# The machine's lists of packages may be older than what its mirror has.
download() { # PACKAGE...
	local apt=(apt-get -q -o APT::Sandbox::User=root -o Acquire::Retries=3)
	! "${apt[@]}" download "$@" || return 0
	apt+=(-o Dir::State::Lists="$part/lists" -o Dir::Cache="$part/lists")
	mkdir -p "$part/lists/partial"
	"${apt[@]}" update && "${apt[@]}" download "$@"
}

unpack() { # PROGRAM PACKAGE...: programs of Debian packages
	local programs=$1
	shift
	mkdir "$part/deb"
	cd "$part/deb"
	download "$@"
	for file in *.deb; do dpkg-deb -x "$file" .; done
	for program in $programs; do mv "usr/bin/$program" "$part/bin/"; done
	cd "$part"
	rm -rf "$part/deb" "$part/lists"
}

manifests() {
	local from name
	cd "$here/go/controllers"
	for name in jobset kueue; do
		from=$("$go" list -m -f '{{.Dir}}' sigs.k8s.io/$name)
		"$part/bin/kubectl" kustomize "$from/config/default" >"$part/manifests/$name.yaml"
	done
	cd /
	from=$(GOFLAGS='' "$go" mod download -json $podgroups | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	from=$from/config/crd/bases/scheduling.x-k8s.io_podgroups.yaml
	echo "$podgroups_sha256  $from" | sha256sum -c
	cp "$from" "$here/volcano-podgroup.yaml" "$part/manifests/"
	chmod 644 "$part"/manifests/*
}

mkdir -p "$cache"
exec 9>"$cache/cluster.lock"
flock 9
[ ! -e "$dir/.done" ] || {
	echo "$dir"
	exit
}
part=$cache/cluster-$key.part
rm -rf "$part"
mkdir -p "$part/bin" "$part/manifests"
find_go "$here"/go/* || exit
step "unpacking etcd and containerd" unpack \
	"etcd containerd containerd-shim-runc-v2 ctr" etcd-server containerd
step "building Kubernetes, which takes 10 to 30 minutes" build kubernetes $module ./kubectlc ./kubectld \
	k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler,kubelet,kube-proxy,kubectl}
step "building CoreDNS, helm and the schedulers of gangs" build schedulers schedulers \
	./coredns ./coscheduling ./volcano helm.sh/helm/v3/cmd/helm \
	github.com/apache/yunikorn-k8shim/pkg/cmd/shim sigs.k8s.io/scheduler-plugins/cmd/controller
step "building the controllers of JobSet and Kueue" build controllers controllers \
	sigs.k8s.io/jobset sigs.k8s.io/kueue/cmd/kueue
step "gathering manifests" manifests
rm "$part/log"
touch "$part/.done"
rm -rf "$dir"
mv "$part" "$dir"
echo "$dir"
