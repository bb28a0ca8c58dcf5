#!/bin/bash
# A release for both processors: what is for 64-bit Arm says so where installers look, and has the same program.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
release() { env -u MAKEFLAGS -u MFLAGS -u ARCHES -u SOURCE_DATE_EPOCH vendor/release.sh "$1"; }
of() { find "$scratch/release" -name "$1"; }
both() { # PATTERN...: one for each processor
	local pattern
	for pattern; do
		[ "$(of "$pattern" | wc -l)" = 1 ] || { echo "$pattern: $(of "$pattern")"; return 1; }
	done
}
if ! git rev-parse HEAD >/dev/null 2>&1 || ! ls /usr/share/ca-certificates/mozilla/*.crt >/dev/null 2>&1; then
	skip "a release for both processors" "needs git and ca-certificates"
	finish
fi
check "a release for both processors" release "$scratch/release"
check "... its checksums" eval '(cd "$scratch/release" && sha256sum -c --quiet SHA256SUMS)'
check "... programs, wheels, packages and lists of contents" both '*-linux-amd64' '*-linux-arm64' \
	'*-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl' '*-manylinux_2_17_aarch64.musllinux_1_1_aarch64.whl' \
	'*_amd64.deb' '*_arm64.deb' '*-amd64.spdx.json' '*-arm64.spdx.json' '*-image.tar'
says() { # PROGRAM: it runs, and is the release
	chmod 755 "$1"
	[ "$(head -c 20 "$1" | od -An -tx1 -j 18 -N 2)" = " b7 00" ] && "$1" version | grep -qF "$(vendor/version.sh | cut -d ' ' -f 1)"
}
check "... the program for Arm runs" eval 'says "$(of "*-linux-arm64")"'
check "... that of the wheel is the same" eval 'python3 -m zipfile -e "$(of "*_aarch64.whl")" "$scratch/wheel" &&
	cmp "$scratch"/wheel/*.data/scripts/kftrainer "$(of "*-linux-arm64")"'
check "... that of the Debian package" eval '[ "$(dpkg-deb -f "$(of "*_arm64.deb")" Architecture)" = arm64 ] &&
	dpkg-deb -x "$(of "*_arm64.deb")" "$scratch/deb" && cmp "$scratch/deb/usr/bin/kftrainer" "$(of "*-linux-arm64")"'
# An index of both; each one's configuration names the processor that the index says, or engines do not unpack it.
check "... those of the image" python3 - "$(of '*-image.tar')" "$(of '*-linux-amd64')" "$(of '*-linux-arm64')" <<'P'
import io, json, pathlib, sys, tarfile
tar = tarfile.open(sys.argv[1])
blob = lambda d: tar.extractfile("blobs/sha256/" + d["digest"][7:]).read()
top = json.load(tar.extractfile("index.json"))["manifests"]
assert len(top) == 1 and top[0]["mediaType"].endswith("index.v1+json"), top
found = {}
for m in json.loads(blob(top[0]))["manifests"]:
    manifest = json.loads(blob(m))
    config = json.loads(blob(manifest["config"]))
    assert m["platform"] == {"architecture": config["architecture"], "os": config["os"]}, m
    layer = tarfile.open(fileobj=io.BytesIO(blob(manifest["layers"][0])))
    found[config["architecture"]] = layer.extractfile("kftrainer").read()
assert found == {a: pathlib.Path(p).read_bytes() for a, p in zip(("amd64", "arm64"), sys.argv[2:])}, found.keys()
P
check "... the list for Arm has no Nettle, which is for x86-64" eval 'grep -q "\"name\": *\"nettle\"" "$(of "*-amd64.spdx.json")" && ! grep -q nettle "$(of "*-arm64.spdx.json")"'
finish
