#!/bin/sh
# vendor/sysroot.sh [musl|san|aarch64]
#
# Prints where the libraries of that flavour are, or will be once
# vendor/build.sh has run. The last part of the name is a checksum of everything
# that decides what is built: recipes, sources, the compiler, the kernel's headers,
# and what was asked for by KFTRAINER_NETTLE and KFTRAINER_OLDER (build.sh, fetch.sh).
# A change of any of it gets a new folder.
set -eu
export LC_ALL=C
cd "$(dirname "$0")"

compiler() { # FLAVOUR: and what is that flavour's alone
	case $1 in
	san) clang --version ;;
	aarch64) cat aarch64.sh && aarch64-linux-gnu-gcc --version && dpkg-query -W linux-libc-dev-arm64-cross ;;
	*) gcc --version && gcc -dumpmachine ;;
	esac 2>&1 || true
}

headers() {
	cat /usr/include/linux/version.h || true
	dpkg-query -W -f '${Package} ${Version}\n' linux-libc-dev || true
} 2>/dev/null

nettle() {
	[ -z "${KFTRAINER_NETTLE-}" ] || (cd "$KFTRAINER_NETTLE" && find . -type f -exec sha256sum {} + | sort)
}

key=$( {
	uname -m
	cat lock recipes.sh licenses pack.c fastmem.c mbedtls-config.h mbedtls-entropy.c mbedtls-nettle/* patches/*
	compiler "${1:-musl}"
	headers
	nettle
	echo "${KFTRAINER_OLDER-}"
} | sha256sum | cut -c 1-12)
cache=${KFTRAINER_CACHE:-${XDG_CACHE_HOME:-${HOME:?"is not set, and KFTRAINER_CACHE neither"}/.cache}/kftrainer}
case $cache in
*[[:space:]]* | [!/]*)
	echo "vendor: libraries are built in an absolute path without spaces, not in '$cache':" \
		"set KFTRAINER_CACHE to another" >&2
	exit 2
	;;
esac
sysroot=$cache/sysroot-${1:-musl}-$key
touch -c "$sysroot" 2>/dev/null || : # tests/prune.sh keeps what is used
echo "$sysroot"
