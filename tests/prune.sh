#!/bin/bash
# tests/prune.sh: removes builds and installs from the cache folder that no checkout has used
# for a month. tests/setup.sh touches those it uses, vendor/sysroot.sh the libraries.
set -euo pipefail
cache=$("$(dirname "$0")/../vendor/sysroot.sh")
cache=${cache%/*}
[ -d "$cache" ] || exit 0
find "$cache" -mindepth 1 -maxdepth 1 -mtime +30 ! -name '*.lock' \
	-regextype posix-extended -regex '.*/(sysroot|venv|cluster|lws|sdk|e2e|schedulers|versitygw|model-registry|upstream|kwok|kai)-[^/]*' -print0 |
	while read -r -d '' old; do
		lock=${old%.new}
		lock=${lock%.part}.lock
		name=${old##*/}
		[ -e "$lock" ] || lock=$cache/${name%%-*}.lock
		# What is being built is kept.
		(flock -n 9 && rm -rf "$old") 9>>"$lock" || echo "setup: cannot remove $old" >&2
	done
