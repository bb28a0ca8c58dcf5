#!/bin/bash
# What `make release` makes for users: Python wheel, Debian package, versions, checksums.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
export SOURCE_DATE_EPOCH=1790000000
version=$(cat core/assets/VERSION)-dev+0123abc
out=$scratch/out
same_again() { # SCRIPT FILE
	"vendor/$1" ./kftrainer "$version" "$scratch/again" && cmp "$2" "$scratch/again/${2##*/}"
}
# The first bytes of a program for 64-bit Arm.
printf '\x7fELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\xb7\0' >"$scratch/arm"
head -c 100 /dev/zero >>"$scratch/arm"

# ---- the wheel ----
check "the wheel" vendor/wheel.py ./kftrainer "$version" "$out"
wheel=$(echo "$out"/*.whl)
check "... its name says for what it is" test "${wheel##*/}" = \
	"kftrainer-${version/-dev/.dev0}-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl"
check "... the same bytes again" same_again wheel.py "$wheel"
contents() {
	python3 - "$wheel" ./kftrainer <<-'PYTHON'
		import base64, csv, hashlib, io, sys, zipfile
		wheel = zipfile.ZipFile(sys.argv[1])
		names = wheel.namelist()
		(program,) = [n for n in names if ".dist-info/" not in n]
		assert program.endswith(".data/scripts/kftrainer"), program
		assert wheel.read(program) == open(sys.argv[2], "rb").read()
		assert wheel.getinfo(program).external_attr >> 16 == 0o100755
		assert not [n for n in names if n.endswith(".py")], names
		(record,) = [n for n in names if n.endswith("/RECORD")]
		rows = {name: (digest, size) for name, digest, size in csv.reader(io.StringIO(wheel.read(record).decode()))}
		assert set(rows) == set(names), set(rows) ^ set(names)
		for name, (digest, size) in rows.items():
		    if name != record:
		        want = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=").decode()
		        assert (digest, size) == ("sha256=" + want, str(len(wheel.read(name)))), name
		metadata = wheel.read(record.replace("RECORD", "METADATA")).decode()
		for name in ("LICENSE", "NOTICE", "LIBRARIES"):
		    assert f"\nLicense-File: {name}\n" in metadata and record.replace("RECORD", "licenses/" + name) in names
	PYTHON
}
check "... the program, metadata and licenses, each with its checksum" contents
check "... pip installs it without a network" eval 'python3 -m venv "$scratch/venv" &&
	"$scratch/venv/bin/pip" install --no-index "$wheel"'
check "... it runs" eval '"$scratch/venv/bin/kftrainer" version | grep -q "^kftrainer " &&
	cmp "$scratch/venv/bin/kftrainer" ./kftrainer'
check "... nothing remains after it is uninstalled" eval '"$scratch/venv/bin/pip" uninstall -y kftrainer &&
	[ -z "$(find "$scratch/venv" -name "*kftrainer*")" ]'
other_processor() {
	vendor/wheel.py "$scratch/arm" "$version" "$scratch/arm.d" &&
		! "$scratch/venv/bin/pip" install --no-index "$scratch"/arm.d/*_aarch64.whl 2>"$scratch/err" &&
		grep "is not a supported wheel on this platform" "$scratch/err"
}
check "... pip refuses that of another processor" other_processor
check "... no program, no wheel" eval '! vendor/wheel.py README.md "$version" "$scratch/none" 2>"$scratch/err" &&
	grep -qx "wheel.py: that is no program for amd64 or arm64" "$scratch/err" && [ ! -e "$scratch/none" ]'
check "... no version, no wheel" eval '! vendor/wheel.py ./kftrainer v1 "$scratch/none" && [ ! -e "$scratch/none" ]'

# ---- the Debian package ----
check "the Debian package" vendor/deb.py ./kftrainer "$version" "$out"
deb=$(echo "$out"/*.deb)
check "... its name" test "${deb##*/}" = "kftrainer_${version/-/\~}_amd64.deb"
check "... the same bytes again" same_again deb.py "$deb"
check "... is older than the release" dpkg --compare-versions "${version/-/\~}" lt "$(cat core/assets/VERSION)"
control() { dpkg-deb -f "$deb" "$1"; }
check "... needs nothing" eval '[ -z "$(control Depends)$(control Pre-Depends)" ] && [ "$(control Architecture)" = amd64 ]'
check "... belongs to root" eval 'dpkg-deb -c "$deb" | awk "\$2 != \"root/root\"" | grep . && exit 1; true'
root=$scratch/root
install_it() {
	mkdir -p "$root/var/lib/dpkg/"{info,updates} && : >"$root/var/lib/dpkg/status" && : >"$root/var/lib/dpkg/available" &&
		in_root -i "$deb"
}
in_root() { dpkg --root="$root" --force-not-root --log=/dev/null "$@"; }
check "... is installed into a root" install_it
check "... the program and the plugin run there" eval '"$root/usr/bin/kftrainer" version &&
	[ "$("$root/usr/bin/kubectl-trainer" version | head -1)" = "$(./kftrainer version | head -1)" ]'
check "... checksums" eval '(cd "$root" && md5sum -c --quiet var/lib/dpkg/info/kftrainer.md5sums)'
check "... manual page and completions" eval 'man=$root/usr/share/man/man1
	gzip -dc "$man/kubectl-trainer.1.gz" | cmp - kftrainer.1 && ./kftrainer completion zsh | cmp - "$root/usr/share/zsh/vendor-completions/_kftrainer" &&
	./kftrainer completion fish | cmp - "$root/usr/share/fish/vendor_completions.d/kftrainer.fish" &&
	./kftrainer completion bash | cmp - "$root/usr/share/bash-completion/completions/kftrainer"'
check "... nothing remains after it is removed" eval 'in_root -P kftrainer && [ -z "$(find "$root" -name "*kftrainer*" -o -name kubectl-trainer)" ]'
refused() { # LINE SETTING
	! env "$2" vendor/deb.py ./kftrainer "$version" "$scratch/none" 2>"$scratch/err" && grep -Fx "deb.py: $1" "$scratch/err" && [ ! -e "$scratch/none" ]
}
check "... no address, no package" refused "MAINTAINER is 'me': want NAME <ADDRESS>" MAINTAINER=me
check "... one line of who publishes it" refused "MAINTAINER is 'a <a@b.c>\\nDepends: x': want NAME <ADDRESS>" $'MAINTAINER=a <a@b.c>\nDepends: x'
check "... a time that is none" refused "SOURCE_DATE_EPOCH is '': want seconds since 1970" SOURCE_DATE_EPOCH=
check "... one for another processor" eval 'vendor/deb.py "$scratch/arm" "$version" "$scratch/arm.d" ./kftrainer &&
	[ "$(dpkg-deb -f "$scratch"/arm.d/*_arm64.deb Architecture)" = arm64 ]'
if command -v lintian >/dev/null; then
	check "... lintian finds no error and no warning" lintian --allow-root --fail-on error,warning "$deb"
else
	skip "... lintian finds no error and no warning" "lintian is not installed"
fi

# ---- versions ----
repository() {
	mkdir -p "$scratch/repo/vendor" "$scratch/repo/core/assets" && cd "$scratch/repo" && cp "$OLDPWD/vendor/version.sh" vendor/ &&
		echo 9.8.7 >core/assets/VERSION && git init -q . && git add . &&
		git -c user.name=a -c user.email=a@example.org commit -qm a
}
says_version() { # PATTERN
	[[ $(env -u SOURCE_DATE_EPOCH "$scratch/repo/vendor/version.sh") =~ ^$1\ [0-9]+$ ]]
}
check "a repository" eval '(repository)'
check "a version without a tag" says_version '9\.8\.7-dev\+[0-9a-f]{12}'
check "... with its tag" eval 'git -C "$scratch/repo" tag v9.8.7 && says_version 9\\.8\\.7'
check "... changed since" eval 'echo >>"$scratch/repo/core/assets/VERSION" && says_version "9\\.8\\.7-dev\\+[0-9a-f]{12}\\.changed"'
check "... as an archive recorded it" eval 'echo "9.8.6 5" >"$scratch/repo/vendor/version" && says_version 9\\.8\\.6'

# ---- all of it ----
release() { env -u MAKEFLAGS -u MFLAGS -u SOURCE_DATE_EPOCH ARCHES= vendor/release.sh "$1"; }
mkdir -p "$scratch/mine"
touch "$scratch/mine/file"
check "a release replaces no folder that is not one" eval '! release "$scratch/mine/" && [ -e "$scratch/mine/file" ]'
if git rev-parse HEAD >/dev/null 2>&1 && ls /usr/share/ca-certificates/mozilla/*.crt >/dev/null 2>&1; then
	check "a release" release "$scratch/release"
	check "... its checksums" eval '(cd "$scratch/release" && sha256sum -c --quiet SHA256SUMS && [ "$(wc -l <SHA256SUMS)" = "$(($(ls | wc -l) - 1))" ])'
	check "... of one file, as docs/install.md says" eval '(cd "$scratch/release" && for file in *; do
		[ "$file" = SHA256SUMS ] || [ "$(grep "$file" SHA256SUMS | sha256sum -c)" = "$file: OK" ] || { echo "$file"; exit 1; }
	done)'
	check "... all that users install" eval 'for kind in "*-linux-amd64" "*.whl" "*.deb" "*-image.tar" "*.tgz" install.yaml crds.yaml "*.spdx.json" LICENSES.txt "*-sources.tar"; do
		[ "$(find "$scratch/release" -name "$kind" | wc -l)" = 1 ] || { echo "no $kind"; return 1; }
	done'
	check "... the program says which it is" eval '[ "$("$scratch"/release/*-linux-amd64 version -o json | python3 -c "import json, sys; print(json.load(sys.stdin)[\"version\"])")" = \
		"$(vendor/version.sh | cut -d " " -f 1)" ]'
	check "... the manifests name its image" eval 'tag=$(tar -xOf "$scratch"/release/*-image.tar manifest.json | python3 -c "import json, sys; print(json.load(sys.stdin)[0][\"RepoTags\"][0])") &&
		grep -qF "image: $tag" "$scratch/release/install.yaml"'
	check "... the CRDs" eval 'grep -c "^kind: CustomResourceDefinition" "$scratch/release/crds.yaml" | grep -qx 3 && grep -q "name: kubeflow-trainer-runtimes-installer" "$scratch/release/install.yaml"'
	check "... the same bytes elsewhere" eval 'release "$scratch/elsewhere" && diff -r "$scratch/release" "$scratch/elsewhere"'
else
	skip "a release" "needs git and ca-certificates"
fi
finish
