#!/bin/bash
# What `make release` gives users, in fresh roots and a fresh environment: installed, main job, removed.
# Debian's releases are of this machine's mirror. KFT_UBUNTU=URL: a mirror of Ubuntu, for its releases, too.
# shellcheck disable=SC2016 # what is for another shell
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
export SOURCE_DATE_EPOCH=1790000000
version=$(cat core/assets/VERSION)
check "the package and the wheel" eval 'vendor/deb.py ./kftrainer "$version" "$scratch" && vendor/wheel.py ./kftrainer "$version" "$scratch"'
digits() { # OUTPUT: the main job has learned what it should
	awk -F': ' '/accuracy on [0-9]+ held-out digits/ { found = $NF >= 0.95 } END { exit !found }' "$1" || { tail -n 30 "$1"; return 1; }
}

# ---- the wheel ----
pip() { "$scratch/venv/bin/pip" "$@"; }
check "the wheel, in a fresh environment" eval '/usr/bin/python3 -m venv --system-site-packages "$scratch/venv" &&
	pip install --no-index "$scratch"/*.whl'
check "... runs the main job" eval 'env -i HOME="$scratch" PATH="$scratch/venv/bin:/usr/bin:/bin" kftrainer submit --local examples/digits.yaml >"$scratch/out" 2>&1
	digits "$scratch/out"'
# What others' programs say of the files.
judge() { # PACKAGE WHAT COMMAND
	if pip install -q "$1" >/dev/null 2>&1; then
		check "$2" eval "$3"
	else
		skip "$2" "$1 cannot be installed"
	fi
}
check "the list of contents" vendor/sbom.py ./kftrainer "$version" "$(vendor/sysroot.sh musl)" "$scratch/list.spdx.json"
judge spdx-tools "... is valid SPDX" '"$scratch/venv/bin/pyspdxtools" -i "$scratch/list.spdx.json"'
judge twine "the wheel's metadata is valid" '"$scratch/venv/bin/twine" check --strict "$scratch"/*.whl'
judge pip==20.3.4 "pip 20.3 installs the wheel" 'pip install --no-index --force-reinstall "$scratch"/*.whl && "$scratch/venv/bin/kftrainer" version'
judge "pip>=23" "... and a newer pip" true
if command -v skopeo >/dev/null; then
	printf '\x7fELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\xb7\0' >"$scratch/arm"
	check "an image for both processors" vendor/image.py "./kftrainer,$scratch/arm" "$version" "$scratch/image.tar"
	check "... skopeo copies both" eval 'skopeo copy --insecure-policy --all "oci-archive:$scratch/image.tar" "oci:$scratch/layout:0" &&
		for arch in amd64 arm64; do
			skopeo --override-arch $arch inspect "oci:$scratch/layout:0" | grep "\"Architecture\": \"$arch\"" || return 1
		done'
else
	skip "an image for both processors" "skopeo is not installed"
fi
for tool in uv pipx; do
	if ! pip install -q $tool >/dev/null 2>&1; then
		skip "$tool" "it cannot be installed"
		continue
	fi
	as() { # COMMAND: uv or pipx, with a home of its own
		env -i HOME="$scratch/$tool" PATH="$scratch/venv/bin:$scratch/$tool/.local/bin:/usr/bin:/bin" "$@"
	}
	[ $tool = uv ] && verb="uv tool" || verb=pipx
	check "$tool installs it" eval 'as $verb install "$scratch"/*.whl'
	check "... it runs" eval 'as "$scratch/$tool/.local/bin/kftrainer" version'
	check "... and is gone when it is removed" eval 'as $verb uninstall kftrainer && [ -z "$(find "$scratch/$tool" -name "kftrainer" ! -path "*/.cache/*")" ]'
done

# ---- the Debian package ----
inside() { # COMMAND: in the root, with a /proc, /dev and /tmp
	unshare -m -p -f bash -c 'mount --bind "$0" "$0"; mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; mount -t tmpfs tmp "$0/tmp"
		exec env -i HOME=/root DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin /usr/sbin/chroot "$0" sh -c "cd /root; $1"' \
		"$root" "$1" >"$scratch/out" 2>&1 || { tail -n 30 "$scratch/out"; return 1; }
}
fresh() { # SUITE MIRROR: with what the main job needs
	debootstrap --variant=minbase --include=python3-torch,python3-sklearn "$1" "$root" "$2" >"$scratch/out" 2>&1 ||
		{ tail -n 5 "$scratch/out"; return 1; }
	cp "$scratch"/*.deb examples/digits.* "$root/root/"
	mkdir "$root/root/examples" && mv "$root"/root/digits.* "$root/root/examples/"
}
in_release() { # SUITE MIRROR
	root=$scratch/$1
	check "$1" fresh "$1" "$2"
	check "$1: apt installs the package, and nothing with it" eval 'inside "apt-get install -y --no-install-recommends ./*.deb" &&
		grep -q "0 upgraded, 1 newly installed" "$scratch/out"'
	check "$1: the program and the plugin of kubectl run" inside "kftrainer version && kubectl-trainer version"
	check "$1: manual page and completions are there" inside "cd /usr/share && gzip -t man/man1/kftrainer.1.gz &&
		ls bash-completion/completions/kftrainer zsh/vendor-completions/_kftrainer fish/vendor_completions.d/kftrainer.fish"
	check "$1: the main job" eval 'inside "kftrainer submit --local examples/digits.yaml" && digits "$scratch/out"'
	check "$1: it is listed afterwards" eval 'inside "kftrainer get" && grep -q "digits.*Complete" "$scratch/out"'
	check "$1: nothing remains after a purge" eval 'inside "apt-get purge -y kftrainer" &&
		[ -z "$(find "$root/usr" "$root/etc" "$root/var/lib/dpkg/info" -name "*kftrainer*" -o -name kubectl-trainer)" ]'
	rm -rf "$root"
}
if [ "$(id -u)" != 0 ]; then
	skip "the Debian package" "debootstrap and chroot take root"
	finish
fi
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
for suite in bookworm trixie; do in_release $suite "$mirror"; done
for suite in jammy noble; do
	if [ "${KFT_UBUNTU:-}" ]; then
		in_release $suite "$KFT_UBUNTU"
	else
		skip "$suite" "KFT_UBUNTU does not name a mirror"
	fi
done
finish
