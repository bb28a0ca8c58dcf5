#!/bin/bash
# The container image: `make image`, without a container engine.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
version=$(cat core/assets/VERSION)
tar=$scratch/image.tar
root=$scratch/root

if ! ls /usr/share/ca-certificates/mozilla/*.crt >/dev/null 2>&1; then
	skip "the image" "the package ca-certificates is not installed"
	finish
fi
image() { vendor/image.py kftrainer "$version" "$1"; }
same_again() { image "$scratch/again.tar" && cmp "$tar" "$scratch/again.tar"; }
epoch() { SOURCE_DATE_EPOCH=1700000000 image "$scratch/later.tar" && ! cmp -s "$tar" "$scratch/later.tar"; }

# Every blob is what its name says; index -> manifest -> config and layer are all there.
whole() {
	python3 - "$tar" "$version" <<-'PYTHON'
		import hashlib, json, sys, tarfile
		tar = tarfile.open(sys.argv[1])
		names = tar.getnames()
		read = lambda name: tar.extractfile(name).read()
		blobs = [n for n in names if n.startswith("blobs/sha256/")]
		for name in blobs:
		    assert hashlib.sha256(read(name)).hexdigest() == name.split("/")[2], name
		def blob(d):
		    data = read("blobs/sha256/" + d["digest"][7:])
		    assert len(data) == d["size"], d
		    return data
		assert json.loads(read("oci-layout")) == {"imageLayoutVersion": "1.0.0"}
		index = json.loads(read("index.json"))
		manifest = json.loads(blob(index["manifests"][0]))
		config = json.loads(blob(manifest["config"]))
		layer = manifest["layers"][0]
		blob(layer)
		assert len(blobs) == 3 and len(manifest["layers"]) == 1
		assert config["rootfs"]["diff_ids"] == [layer["digest"]]
		assert config["config"]["Entrypoint"] == ["/kftrainer"], config
		assert config["config"]["User"] == "65532:65532", config
		docker = json.loads(read("manifest.json"))[0]
		assert docker["RepoTags"] == ["kftrainer:" + sys.argv[2]]
		assert docker["Layers"] == ["blobs/sha256/" + layer["digest"][7:]]
	PYTHON
}
unpack() {
	python3 - "$tar" "$root" <<-'PYTHON'
		import json, sys, tarfile
		tar = tarfile.open(sys.argv[1])
		layer = json.load(tar.extractfile("manifest.json"))[0]["Layers"][0]
		files = tarfile.open(fileobj=tar.extractfile(layer))
		for m in files.getmembers():
		    assert (m.uid, m.gid, m.mtime) == (0, 0, 0), m.name
		    assert m.mode in (0o644, 0o755) or m.issym() or (m.name, m.mode) == ("tmp", 0o1777), m.name
		files.extractall(sys.argv[2])
	PYTHON
}
contents() {
	(cd "$root" && find . -type f | sort) | diff - <(printf './%s\n' etc/group etc/passwd \
		etc/ssl/certs/ca-certificates.crt kftrainer licenses/{LIBRARIES,LICENSE,NOTICE} \
		licenses/ca-certificates{,-MPL-2.0}) && cmp kftrainer "$root/kftrainer"
}
links() { [ "$(cd "$root" && find . -type l -printf '%P %l\n' | sort | xargs)" = "head kftrainer worker kftrainer" ]; }
# As upstream's LeaderWorkerSet runs them: without a table they fail, and say what they are.
roles() {
	local role
	for role in head worker; do
		"$root/$role" 0.0.0.0 0 2>&1 | grep "^kftrainer cache-serve $role: METADATA_LOC is not set" || return 1
	done
}
authorities() { # all of the package's, none twice, each readable
	local n
	n=$(grep -c 'BEGIN CERTIFICATE' "$root/etc/ssl/certs/ca-certificates.crt")
	echo "$n"
	[ "$n" = "$(cat /usr/share/ca-certificates/mozilla/*.crt | grep -c 'BEGIN CERTIFICATE')" ] &&
		[ "$n" -gt 50 ] && openssl storeutl -noout -certs "$root/etc/ssl/certs/ca-certificates.crt" |
		grep -q "^Total found: $n\$"
}
runs() { # nothing but the image's files
	unshare -r --root="$root" /kftrainer version | grep "^kftrainer $version"
}
no_program() { ! vendor/image.py README.md "$version" "$scratch/none.tar" && [ ! -e "$scratch/none.tar" ]; }

check "is made" image "$tar"
check "again: the same bytes" same_again
check "SOURCE_DATE_EPOCH counts" epoch
check "an OCI image layout, whole; docker load's names" whole
check "root's files, no time, no special bits" unpack
check "the program, certificates, users, licenses; nothing else" contents
check "links by the names of upstream's data cache" links
check "... which are its head and worker" roles
check "the certificates of the package ca-certificates" authorities
if unshare -r true 2>/dev/null; then
	check "the program runs in it" runs
else
	skip "the program runs in it" "no user namespaces here"
fi
check "not of a file that is no program" no_program
finish
