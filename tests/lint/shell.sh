#!/bin/bash
# tests/lint/shell.sh FILE...: what shellcheck finds in them. A file in which it found nothing is not read again until
# its text, that of a file it names by "shellcheck source=", shellcheck, or this script changes: a checksum of all
# that is kept in kftrainer's cache folder, for a month after it was last of use.
set -euo pipefail
cd "$(dirname "$0")/../.."
cache=$(vendor/sysroot.sh)
clean=${cache%/*}/shellcheck
version=$(shellcheck --version | cat - tests/lint/shell.sh | sha256sum)

with_sources() { # FILE: and those that it names, and those that they name
	local file
	[[ $seen != *" $1 "* ]] || return 0
	seen+=" $1 "
	for file in $(sed -n 's/^[[:blank:]]*# shellcheck source=//p' "$1"); do
		[ ! -f "$file" ] || with_sources "$file"
	done
}
checksum() { # FILE
	local seen=''
	with_sources "$1"
	# shellcheck disable=SC2086
	{ echo "$version $1" && sha256sum $seen; } | sha256sum | cut -d ' ' -f 1
}

mkdir -p "$clean"
status=0
for file in "$@"; do
	sum=$(checksum "$file")
	if [ -e "$clean/$sum" ] || shellcheck -x -S warning -e SC2154,SC2034 "$file"; then
		touch "$clean/$sum"
	else
		status=1
	fi
done
find "$clean" -type f -mtime +30 -delete
exit $status
