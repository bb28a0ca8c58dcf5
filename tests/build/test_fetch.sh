#!/bin/bash
# vendor/fetch.sh against a Debian mirror that is ours, signed by a key of ours: what it takes
# when the lock's revision is gone. And `make sources`, with which it takes no mirror.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
unset KFTRAINER_OLDER
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
repo=$scratch/repo
export GNUPGHOME=$scratch/gnupg

sum() { sha256sum <"$1" | cut -d ' ' -f 1; }

# A source package of two files.
publish() { # VERSION
	local tar=tiny_${1%-*}.orig.tar.gz dsc=tiny_$1.dsc
	mkdir -p "$repo/pool"
	[ -e "$repo/pool/$tar" ] || echo "tiny" | gzip -n >"$repo/pool/$tar"
	cat >"$repo/pool/$dsc" <<-END
		Format: 1.0
		Source: tiny
		Binary: tiny
		Version: $1
		Maintainer: Nobody <nobody@example.com>
		Checksums-Sha256:
		 $(sum "$repo/pool/$tar") $(stat -c %s "$repo/pool/$tar") $tar
	END
	cat >>"$scratch/Sources" <<-END
		Package: tiny
		Binary: tiny
		Version: $1
		Maintainer: Nobody <nobody@example.com>
		Architecture: any
		Format: 1.0
		Directory: pool
		Checksums-Sha256:
		 $(sum "$repo/pool/$dsc") $(stat -c %s "$repo/pool/$dsc") $dsc
		 $(sum "$repo/pool/$tar") $(stat -c %s "$repo/pool/$tar") $tar

	END
}
sign() { # suites of the mirror, each with all that was published
	local suite list
	for suite in bookworm trixie; do
		list=$repo/dists/$suite/main/source
		mkdir -p "$list"
		cp "$scratch/Sources" "$list/Sources"
		printf 'Origin: Debian\nSuite: %s\nCodename: %s\nDate: %s\nComponents: main\nArchitectures: amd64\nSHA256:\n %s %s main/source/Sources\n' \
			"$suite" "$suite" "$(date -Ru)" "$(sum "$list/Sources")" "$(stat -c %s "$list/Sources")" >"$repo/dists/$suite/Release"
		gpg -q --batch --yes --clearsign -o "$repo/dists/$suite/InRelease" "$repo/dists/$suite/Release" || return 1
	done
}
mirror_has() { # VERSION...
	local version
	: >"$scratch/Sources"
	for version in "$@"; do publish "$version"; done
	sign
}
lock() { # VERSION: what the lock names, though the mirror may not have it
	rm -rf "$scratch/vendor" "$scratch/sources"
	mkdir "$scratch/vendor"
	cp vendor/fetch.sh "$scratch/vendor/"
	printf '# a lock\ntiny %s tiny_%s.dsc %064d\n' "$1" "$1" 7 >"$scratch/vendor/lock"
}
# In a mount namespace where our key is Debian's.
fetch() { # ARGUMENT...
	unshare -rm sh -c 'mount --bind "$0" "$1" && shift && exec "$@"' "$scratch/key.gpg" "$keyring" \
		env APT_CONFIG="$scratch/apt.conf" "$scratch/vendor/fetch.sh" "$@" >"$scratch/out" 2>"$scratch/err"
	status=$?
	cat "$scratch/out" "$scratch/err"
	return $status
}
gives() { fetch "$scratch/sources" && [ "$(cat "$scratch/out")" = "$1" ]; }
refuses() { # TEXT: nothing is taken, and it says so
	! fetch "$scratch/sources" && grep -q "$1" "$scratch/err" && [ ! -s "$scratch/out" ] &&
		! ls "$scratch"/sources/tiny* 2>/dev/null
}
begin() {
	mkdir -m 700 "$GNUPGHOME"
	gpg -q --batch --passphrase '' --quick-generate-key 'test <test@example.com>' ed25519 sign never &&
		gpg -q --export >"$scratch/key.gpg" && mkdir "$scratch/apt" &&
		echo "deb-src [signed-by=$scratch/key.gpg] file:$repo trixie main" >"$scratch/apt/test.list" &&
		printf 'Dir::Etc::SourceList "/dev/null";\nDir::Etc::SourceParts "%s";\n' "$scratch/apt" >"$scratch/apt.conf"
}

if ! command -v gpg >/dev/null || [ ! -e "$keyring" ]; then
	skip "fetch.sh and a mirror" "gnupg or debian-archive-keyring is not installed"
elif ! unshare -rm true 2>/dev/null; then
	skip "fetch.sh and a mirror" "no user namespaces here"
else
	check "a mirror of our own" begin
	mirror_has 1.0-1 1.0-3
	lock 1.0-2
	check "a newer revision takes the place of one that has left the mirror" gives "tiny 1.0-3 tiny_1.0-3.dsc unpinned"
	mirror_has 1.0-3 1.1-1
	lock 1.0-2
	check "... of the same upstream version, if there is one" gives "tiny 1.0-3 tiny_1.0-3.dsc unpinned"
	mirror_has 1.0-1 1.1-1
	lock 1.0-2
	check "... else a later one" gives "tiny 1.1-1 tiny_1.1-1.dsc unpinned"
	pooled() { # the lists do not name it, but it is there still
		mkdir -p "$repo/pool/main/t/tiny"
		echo "as it was" >"$repo/pool/main/t/tiny/tiny_1.0-2.dsc"
		sed -i "s/ [0-9]*7$/ $(sum "$repo/pool/main/t/tiny/tiny_1.0-2.dsc")/" "$scratch/vendor/lock"
		gives "tiny 1.0-2 tiny_1.0-2.dsc pinned"
	}
	lock 1.0-2
	check "a revision that is in the pool alone is used, by its checksum" pooled
	lock 1.0-2
	check "... not with another checksum" gives "tiny 1.1-1 tiny_1.1-1.dsc unpinned"
	rm -r "$repo/pool/main"
	mirror_has 1.0-1 0.9-5
	lock 1.0-2
	check "an older revision is refused, though it is signed" refuses "only older revisions"
	check "... and the line says how to ask for it" grep -q 'KFTRAINER_OLDER=tiny=1.0-1 make' "$scratch/err"
	export KFTRAINER_OLDER=tiny=1.0-0
	check "... also when another was requested" refuses "only older revisions"
	export KFTRAINER_OLDER="other=3 tiny=1.0-1"
	check "... a requested one is used" gives "tiny 1.0-1 tiny_1.0-1.dsc unpinned"
	unset KFTRAINER_OLDER
	lock 1.0-2
	relock() { ! fetch --relock "$scratch/sources" && grep -q '^tiny 1.0-2 ' "$scratch/vendor/lock"; }
	check "the lock is not rewritten to an older revision" relock
	mirror_has 1.0-4
	newer() { fetch --relock "$scratch/sources" && grep -q '^tiny 1.0-4 ' "$scratch/vendor/lock"; }
	check "... to a newer one it is" newer
	sed -i 's/^Origin: Debian$/Origin: Another/' "$repo"/dists/*/InRelease
	lock 1.0-2
	check "a list whose signature is wrong is not used" refuses 'vendor: '
fi

# ---- make sources --------------------------------------------------------------------------------
version=$(cat core/assets/VERSION)
tar=$scratch/kftrainer-$version-sources.tar
top=$scratch/unpacked/kftrainer-$version
make_sources() { make --no-print-directory -s sources DIST="$1"; }
sources_twice() { make_sources "$scratch" && mkdir "$scratch/again" && make_sources "$scratch/again" && cmp "$tar" "$scratch/again/${tar##*/}"; }
unpacked() { mkdir "$scratch/unpacked" && tar -xf "$tar" -C "$scratch/unpacked"; }
holds() {
	(cd "$top" && find . ! -type d -printf '%P\n' | sort) | diff - <({
		git ls-tree -r --name-only HEAD
		echo vendor/version # what vendor/version.sh says without git
		awk '!/^#/ { print "vendor/sources/" $3 }' vendor/lock vendor/npm.lock
	} | LC_ALL=C sort)
}
# No network, no mirror, an empty cache.
offline() {
	rm -rf "$scratch/empty"
	unshare -rn env APT_CONFIG=/dev/null "$top/vendor/fetch.sh" "$scratch/empty" >"$scratch/out" || return 1
	cat "$scratch/out"
	[ "$(grep -c ' pinned$' "$scratch/out")" = "$(awk '!/^#/ { print $1 }' vendor/lock | sort -u | wc -l)" ] &&
		! grep unpinned "$scratch/out"
}
spoiled() {
	echo x >>"$top"/vendor/sources/expat_*.orig.tar.gz
	! offline
}
if ! git rev-parse HEAD >/dev/null 2>&1; then
	skip "make sources" "not a git checkout"
elif ! unshare -rn true 2>/dev/null; then
	skip "make sources" "no user namespaces here"
else
	check "make sources gives the same bytes twice" sources_twice
	check "... is a tar" unpacked
	check "... of all that git has and all that the lock names" eval 'LC_ALL=C holds'
	check "... which is all that the build fetches" offline
	check "... a file that was changed in it is not used" spoiled
fi
finish
