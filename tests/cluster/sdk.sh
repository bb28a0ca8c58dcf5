#!/bin/bash
# tests/cluster/sdk.sh
#
# Installs the releases of the Kubeflow SDK that sdk/wheels.txt names, once, and prints the
# folder: RELEASE/bin/python for each, and wheels/, from which pods install it. What all
# releases need is there once, in all/. The last part of the folder's name is a checksum of
# what decides what is installed.
set -Eeuo pipefail
here=$(cd "$(dirname "$0")" && pwd)
list=$here/sdk/wheels.txt
cache=$("$here/../../vendor/sysroot.sh")
cache=${cache%/*}
python=/usr/bin/python3
key=$(cat "$here/sdk.sh" "$list" <("$python" --version) | sha256sum | cut -c 1-12)
dir=$cache/sdk-$key

mkdir -p "$cache"
exec 9>"$cache/sdk.lock"
flock 9
[ ! -e "$dir/.done" ] || {
	echo "$dir"
	exit
}
# In place, because a venv knows its own path; .done says that it is complete.
echo "sdk: installing the Kubeflow SDK's releases into $dir" >&2
rm -rf "$dir"
mkdir -p "$dir/wheels"
trap 'tail -n 20 "$dir/log" >&2' ERR

pip() {
	"$dir/all/bin/python" -m pip --disable-pip-version-check --no-input "$@" >>"$dir/log" 2>&1
}
wanted() { sed -n "s/^$1 //p" "$list" >"$dir/list"; } # RELEASE, or all
fetch() {
	pip download --progress-bar off --no-deps --only-binary :all: --require-hashes --retries 5 -d "$dir/wheels" -r "$dir/list"
}
install() {
	pip install --no-deps --no-index --find-links "$dir/wheels" "$@" -r "$dir/list"
}
site() { echo "$dir/$1"/lib/python3*/site-packages; }

"$python" -m venv "$dir/all"
wanted all
fetch
install
for release in $(awk '/^[0-9]/ { print $1 }' "$list" | uniq); do
	"$python" -m venv --without-pip "$dir/$release"
	wanted "$release"
	fetch
	install --target "$(site "$release")"
	site all >"$(site "$release")/all.pth"
done
rm "$dir/list" "$dir/log"
touch "$dir/.done"
echo "$dir"
