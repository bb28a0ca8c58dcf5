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
[ ! -e "$dir/.done" ] || {
	echo "$dir"
	exit
}

exec 9>"$cache/lws.lock"
flock 9
[ ! -e "$dir/.done" ] || {
	echo "$dir"
	exit
}
programs=$("$here/programs.sh")
find_go "$here/go/controllers"
rm -rf "$dir.part"
mkdir -p "$dir.part/bin"
cd "$here/go/controllers"
echo "cluster: building LeaderWorkerSet's controller, which takes a minute" >&2
{
	nice -n 5 "$go" build -o "$dir.part/bin/lws" -ldflags '-s -w' $module/cmd &&
		"$programs/bin/kubectl" kustomize "$("$go" list -m -f '{{.Dir}}' $module)/config/default" >"$dir.part/manifest.yaml"
} 2>"$dir.log" </dev/null || {
	tail -n 20 "$dir.log" >&2
	exit 1
}
rm -f "$dir.log"
touch "$dir.part/.done"
rm -rf "$dir"
mv "$dir.part" "$dir"
echo "$dir"
