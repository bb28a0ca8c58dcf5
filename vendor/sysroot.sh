#!/bin/sh
# vendor/sysroot.sh [musl|san|aarch64]
#
# Prints where the libraries of that flavour are, or will be once
# vendor/build.sh has run. The last part of the name is a checksum of everything
# that decides what is built: a changed recipe gets a new folder.
set -eu
cd "$(dirname "$0")"
key=$( { uname -m; cat lock recipes.sh fastmem.c mbedtls-config.h mbedtls-nettle/* patches/*; } |
	sha256sum | cut -c 1-12)
cache=${KFTRAINER_CACHE:-${XDG_CACHE_HOME:-${HOME:?"is not set, and KFTRAINER_CACHE neither"}/.cache}/kftrainer}
case $cache in
*[[:space:]]* | [!/]*)
	echo "vendor: libraries are built in an absolute path without spaces, not in '$cache':" \
		"set KFTRAINER_CACHE to another" >&2
	exit 2
	;;
esac
echo "$cache/sysroot-${1:-musl}-$key"
