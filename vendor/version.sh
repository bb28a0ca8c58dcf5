#!/bin/sh
# vendor/version.sh
#
# Prints the version of a release and, after a blank, its time in seconds since 1970:
# core/assets/VERSION if the commit has its tag (vVERSION) and nothing was changed since, else
# VERSION-dev+COMMIT. In an archive of vendor/sources.sh, what that recorded in vendor/version: this
# line, and the commit in another.
set -eu
cd "$(dirname "$0")/.."
if [ -s vendor/version ]; then
	head -n 1 vendor/version
	exit
fi
version=$(cat core/assets/VERSION)
if ! commit=$(git rev-parse --short=12 HEAD 2>/dev/null); then
	echo "$version-dev ${SOURCE_DATE_EPOCH:-0}"
	exit
fi
if ! git diff --quiet HEAD; then
	version=$version-dev+$commit.changed
elif ! git tag --points-at HEAD | grep -qxF "v$version"; then
	version=$version-dev+$commit
fi
echo "$version ${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
