#!/bin/bash
# tests/cluster/kai.sh
#
# Builds KAI, once, and prints the folder: bin/ has its scheduler, binder, podgrouper, queuecontroller and
# podgroupcontroller, and podgrouper13 (kai/podgrouper13); kai.yaml has its CRDs, cluster roles and priority classes, as
# released. kai/go.mod pins its release, and kai/go.sum all of it. Apart from programs.sh, for only tests/soak needs it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$("$here/../../vendor/sysroot.sh")
cache=${cache%/*}
# shellcheck source=tests/go.sh
. "$here/../go.sh"
dir=$cache/kai-$(cd "$here" && { echo "$GOARCH $toolchain $GOFLAGS"; cat kai.sh kai/go.* kai/*/*.go; } | sha256sum | cut -c 1-12)
module=github.com/NVIDIA/KAI-scheduler

build() {
	local file
	find_go "$here/kai" && cd "$here/kai" &&
		nice -n 5 "$go" build -o "$dir.part/bin/" -ldflags '-s -w' ./podgrouper13 \
			$module/cmd/{binder,podgroupcontroller,podgrouper,queuecontroller,scheduler} &&
		cd "$("$go" list -m -f '{{.Dir}}' $module)"/deployments/kai-scheduler || return
	for file in crds/*.yaml templates/rbac/{scheduler,binder,podgrouper,queuecontroller,podgroupcontroller}.yaml \
		templates/priorityclasses/*.yaml; do
		echo ---
		cat "$file" || return
		echo
	done >"$dir.part/kai.yaml"
}
build_once kai "KAI, which takes 5 to 15 minutes" build
