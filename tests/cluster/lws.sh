#!/bin/bash
# tests/cluster/lws.sh
#
# Builds LeaderWorkerSet's controller, once, and prints the folder: bin/lws, and manifest.yaml, its
# objects as released. Of the version that Kueue is built with (go/controllers/go.mod, whose go.sum
# pins all of it), and so of the same libraries. Apart from programs.sh, for few tests need it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$("$here/../../vendor/sysroot.sh")
cache=${cache%/*}
# shellcheck source=tests/go.sh
. "$here/../go.sh"
dir=$cache/lws-$(cd "$here" && { echo "$GOARCH $toolchain $GOFLAGS"; cat lws.sh go/controllers/go.*; } | sha256sum | cut -c 1-12)
module=sigs.k8s.io/lws
[ -e "$dir/.done" ] || programs=$("$here/programs.sh")

build() {
	find_go "$here/go/controllers" && cd "$here/go/controllers" &&
		nice -n 5 "$go" build -o "$dir.part/bin/lws" -ldflags '-s -w' $module/cmd &&
		"$programs/bin/kubectl" kustomize "$("$go" list -m -f '{{.Dir}}' $module)/config/default" >"$dir.part/manifest.yaml"
}
build_once lws "LeaderWorkerSet's controller, which takes a minute" build
