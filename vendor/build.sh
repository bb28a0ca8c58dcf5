#!/bin/bash
# vendor/build.sh [musl|san|aarch64]
#
# Fetches and builds the libraries into the folder that vendor/sysroot.sh names.
# Prints nothing and returns at once where that is done. Two at a time wait for
# each other; what is half done is never seen under the final name.
#
#   musl     everything, static, for the program: CC is bin/musl-gcc
#   san      what the unit tests and fuzzers link, by clang with ASan and UBSan
#   aarch64  musl's, for 64-bit Arm, by Debian's cross compiler (vendor/aarch64.sh)
#
# Left in the folder: .done; versions (NAME VERSION of each source); unpinned
# (the same, only where a source is not the revision that vendor/lock names); in
# musl's, licenses/NAME/ with the texts of each library of vendor/licenses.
#
# KFTRAINER_NETTLE=FOLDER builds with the source of Nettle in that folder.
set -euo pipefail
export LC_ALL=C
umask 022
vendor=$(cd "$(dirname "$0")" && pwd)
flavour=${1:-musl}
final=$("$vendor/sysroot.sh" "$flavour")
[ ! -e "$final/.done" ] || exit 0

cache=$(dirname "$final")
root=$final.new src=$root/src build=$root/build
jobs=${KFTRAINER_JOBS:-$(nproc)}
unset CFLAGS CPPFLAGS LDFLAGS CPATH C_INCLUDE_PATH LIBRARY_PATH MAKEFLAGS MFLAGS MAKEOVERRIDES DESTDIR

say() { echo "vendor: $*"; }

lock() { # FILE: held until this process ends
	exec 9>"$1"
	flock -n 9 || { say "another build is under way, waiting for it"; flock 9; }
}

need() { # SETUP TOOL...: before anything is made
	local tool missing=
	for tool in "${@:2}"; do
		command -v "$tool" >/dev/null || missing+=" $tool"
	done
	[ -z "$missing" ] || { say "missing:$missing; run: tests/setup.sh $1"; exit 2; }
}

unpack() { # NAME VERSION DSC STATE
	if [ "$1" = nettle ] && [ -n "${KFTRAINER_NETTLE-}" ]; then
		cp -r "$KFTRAINER_NETTLE" "$src/nettle"
		set -- nettle "$2+changed" "$3" changed
	else
		dpkg-source --no-check -x "$cache/sources/$3" "$src/$1" >/dev/null
	fi
	echo "$1 $2" >>"$root/versions"
	[ "$4" = pinned ] || echo "$1 $2" >>"$root/unpinned"
}

sources() { # NAME...
	local list name
	list=$(flock "$cache/sources.lock" "$vendor/fetch.sh" "$cache/sources" "$@")
	for name in "$@"; do
		awk -v n="$name" '$1 == n' <<<"$list" | while read -r line; do
			# shellcheck disable=SC2086
			unpack $line
		done
	done
}

build() { # NAME
	local version status=0
	version=$(awk -v n="$1" '$1 == n { print " " $2 }' "$root/versions")
	say "building $1$version"
	set +e # a condition would switch it off inside too
	(set -e; cd "$src"; "build_$1") >"$build/$1.log" 2>&1
	status=$?
	set -e
	if [ $status != 0 ]; then
		tail -n 30 "$build/$1.log" >&2
		say "$1 cannot be built; the whole log is $build/$1.log"
		exit 1
	fi
}

build_all() { # NAME...
	local name
	for name in "$@"; do
		build "$name"
	done
}

# Takes the scratch folders away and makes the folder's own name final. Nothing
# but the compiler's wrapper may know where it lies, and ASan's reports of globals.
finish() {
	local left
	rm -rf "$src" "$build" "$root"/lib/{cmake,pkgconfig} "$root/share" "$root"/bin/{curl-config,wcurl}
	[ ! -e "$root/bin/musl-gcc" ] ||
		sed -i "s|$root|$final|g" "$root/bin/musl-gcc" "$root/libc/lib/musl-gcc.specs"
	left=
	[ "$flavour" = san ] || left=$(grep -rlF "$root" "$root" || true)
	[ -z "$left" ] || { say "not reproducible, the path is in: $left"; exit 1; }
	touch "$root/.done"
	rm -rf "$final"
	mv "$root" "$final"
}

case $flavour in
musl) need build gcc make m4 cmake ninja patch python3 dpkg-source ;;
aarch64) need release aarch64-linux-gnu-gcc make cmake ninja patch python3 dpkg-source ;;
san) need check clang ar make m4 cmake ninja patch python3 dpkg-source ;;
esac
mkdir -p "$cache/sources"
lock "$final.lock"
[ ! -e "$final/.done" ] || exit 0
rm -rf "$root"
mkdir -p "$src" "$build" "$root/include" "$root/lib"
start=$SECONDS
# shellcheck source=vendor/recipes.sh
. "$vendor/recipes.sh"
case $flavour in
musl)
	first=$musl_first lanes=("${musl_lanes[@]}")
	use_musl
	;;
san)
	first=$san_first lanes=("${san_lanes[@]}")
	use_san
	;;
aarch64)
	# shellcheck source=vendor/aarch64.sh
	. "$vendor/aarch64.sh"
	first=$musl_first lanes=("${cross_lanes[@]}")
	use_aarch64
	;;
*)
	say "no flavour $flavour: musl, san or aarch64"
	exit 2
	;;
esac
# shellcheck disable=SC2048,SC2086
sources $first ${lanes[*]}
# shellcheck disable=SC2086
build_all $first
running=()
trap 'for pid in "${running[@]}"; do kill -- "-$pid"; done 2>/dev/null || true' EXIT
set -m # a process group a lane, so that it ends as a whole when this script does
for lane in "${lanes[@]}"; do
	# shellcheck disable=SC2086
	build_all $lane &
	running+=($!)
done
set +m
failed=
for pid in "${running[@]}"; do
	wait "$pid" || failed=1
done
running=()
[ -z "$failed" ] || exit 1
case $flavour in
musl) licenses ;;
aarch64) # the revision: Debian's cross compiler is built from the source of its own; the texts are musl's
	licenses_libgcc "$build"
	sed -i '/^libgcc /s/cross[0-9]*$//' "$root/versions"
	;;
esac
finish
say "$flavour libraries are in $final ($((SECONDS - start)) s)"
