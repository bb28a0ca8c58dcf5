#!/bin/bash
# vendor/sources.sh VERSION OUTPUT
#
# One archive from which the release can be built again without any mirror: this
# repository as committed, and in its vendor/sources/ every file that vendor/lock and vendor/npm.lock name.
# vendor/fetch.sh looks there first. The same commit and lock give the same bytes.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
version=$1 output=$2
cache=$(dirname "$(vendor/sysroot.sh)")/sources
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
top=$work/kftrainer-$version
mkdir -p "$cache" "$top/vendor/sources"
states=$(flock "$cache.lock" vendor/fetch.sh "$cache")
if grep ' unpinned$' <<<"$states" >&2; then
	echo "vendor: these are not the revisions of vendor/lock; update it first" >&2
	exit 1
fi
awk '!/^#/ { print $3 }' vendor/lock | sort | while read -r file; do
	cp "$cache/$file" "$top/vendor/sources/"
done
vendor/npm.py "$cache" "$work/page" # fetches what is missing
awk '!/^#/ { print $3 }' vendor/npm.lock | while read -r file; do
	cp "$cache/$file" "$top/vendor/sources/"
done
git archive --format=tar HEAD | tar -xf - -C "$top" --no-same-owner
{ vendor/version.sh && git rev-parse --short=12 HEAD; } >"$top/vendor/version"
find "$top" -type d -exec chmod 755 {} + -o -perm /111 -exec chmod 755 {} + -o -exec chmod 644 {} +
tar --sort=name --owner=0 --group=0 --numeric-owner --format=gnu \
	--mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" \
	-C "$work" -cf "$output.new" "kftrainer-$version"
mv "$output.new" "$output"
echo "$output: $(du -m "$output" | cut -f 1) MB, sha256:$(sha256sum "$output" | cut -d ' ' -f 1)"
