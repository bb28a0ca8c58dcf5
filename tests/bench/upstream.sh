#!/bin/bash
# tests/bench/upstream.sh
#
# Builds upstream's trainer-controller-manager of $version, once, and prints its path: what the controller is
# measured beside. The module's go.mod says of which libraries; the checksum database verifies all of it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$("$here/../../vendor/sysroot.sh")
cache=${cache%/*}
# shellcheck source=tests/go.sh
. "$here/../go.sh"
version=v2.2.1
package=github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager
program=$cache/upstream-$version-$toolchain/trainer-controller-manager
[ -x "$program" ] || (
	exec 9>"$cache/upstream.lock"
	flock 9
	[ ! -x "$program" ] || exit 0
	find_go "$here"/../cluster/go/*
	echo "bench: building upstream's manager, which takes some minutes" >&2
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
