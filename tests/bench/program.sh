#!/bin/bash
# tests/bench/program.sh upstream|kwok
#
# Builds one program in Go, once, and prints its path: upstream's trainer-controller-manager, beside which the
# controller is measured, or kwok, which plays the kubelets of many nodes. The module's go.mod says of which libraries;
# the checksum database verifies all of it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$("$here/../../vendor/sysroot.sh")
cache=${cache%/*}
# shellcheck source=tests/go.sh
. "$here/../go.sh"
case $1 in
upstream) package=github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager version=v2.2.1 ;;
kwok) package=sigs.k8s.io/kwok/cmd/kwok version=v0.8.0 ;;
esac
program=$cache/$1-$version-$toolchain/${package##*/}
[ -x "$program" ] || (
	exec 9>"$cache/$1.lock"
	flock 9
	[ ! -x "$program" ] || exit 0
	find_go "$here"/../cluster/go/*
	echo "bench: building ${package##*/}, which takes some minutes" >&2
	cd /
	GOFLAGS='-buildvcs=false -trimpath' GOBIN=${program%/*}.part nice -n 5 "$go" install -ldflags '-s -w' "$package@$version" \
		>"${program%/*}.log" 2>&1 </dev/null || {
		tail -n 20 "${program%/*}.log" >&2
		exit 1
	}
	rm -rf "${program%/*}" "${program%/*}.log"
	mv "${program%/*}.part" "${program%/*}"
)
touch "${program%/*}"
echo "$program"
