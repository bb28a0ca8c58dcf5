#!/bin/bash
# tests/cluster/schedulers.sh
#
# Builds the gang schedulers of the tests, once, and prints the folder: `scheduler` and
# `controller` are those of scheduler-plugins, `shim` is YuniKorn, `volcano` reads Volcano's PodGroups
# with Volcano's types (from schedulers/go.mod, whose go.sum pins all of it). After programs.sh, which finds a Go.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$("$here/../../vendor/sysroot.sh")
cache=${cache%/*}
dir=$cache/schedulers-$(cd "$here" && cat schedulers.sh schedulers/go.* schedulers/*.go schedulers/*/*.go | sha256sum | cut -c 1-12)

new_enough() { # GO
	local version wanted
	wanted=$(sed -n 's/^go //p' "$here/schedulers/go.mod")
	version=$("$1" env GOVERSION 2>/dev/null) || return 1
	[ "$(printf '%s\n' "go$wanted" "$version" | sort -V | head -n 1)" = "go$wanted" ]
}

find_go() {
	for go in "$(command -v go || true)" /usr/local/go/bin/go /usr/lib/go*/bin/go "$cache"/go-*/bin/go; do
		[ ! -x "$go" ] || ! new_enough "$go" || return 0
	done
	echo "schedulers: no Go is new enough: run tests/cluster/programs.sh" >&2
	exit 1
}

exec 9>"$cache/schedulers.lock"
flock 9
[ ! -e "$dir/.done" ] || {
	echo "$dir"
	exit
}
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS='-mod=readonly -buildvcs=false -trimpath'
export GOWORK=off GO111MODULE=on
find_go
rm -rf "$dir.part"
mkdir "$dir.part"
cd "$here/schedulers"
echo "schedulers: building scheduler-plugins and YuniKorn, which takes 5 to 20 minutes" >&2
nice -n 5 "$go" build -o "$dir.part/" -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v1.34.4" \
	./volcano github.com/apache/yunikorn-k8shim/pkg/cmd/shim \
	sigs.k8s.io/scheduler-plugins/cmd/{controller,scheduler} >"$dir.log" 2>&1 </dev/null || {
	tail -n 20 "$dir.log" >&2
	exit 1
}
rm -f "$dir.log"
touch "$dir.part/.done"
rm -rf "$dir"
mv "$dir.part" "$dir"
echo "$dir"
