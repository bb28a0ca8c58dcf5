#!/bin/bash
# tests/store/program.sh NAME PACKAGE
#
# Builds a program with Go, once, and prints where it is: PACKAGE of the module go/NAME, whose
# go.sum pins all of it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$("$here/../../vendor/sysroot.sh")
cache=${cache%/*}
# shellcheck source=tests/go.sh
. "$here/../go.sh"
module=$here/go/$1
program=$cache/$1-$(cat "$module/go.mod" "$module/go.sum" | sha256sum | cut -c 1-12)

[ ! -x "$program" ] || {
	echo "$program"
	exit
}

mkdir -p "$cache"
exec 9>"$program.lock"
flock 9
[ ! -x "$program" ] || {
	echo "$program"
	exit
}
log=$program.log
find_go "$module" >"$log" 2>&1 || {
	cat "$log" >&2
	exit 1
}
cd "$module"
echo "$1: building it, which takes some minutes" >&2
nice -n 5 "$go" build -ldflags='-s -w' -o "$program.part" "$2" >"$log" 2>&1 || {
	tail -n 20 "$log" >&2
	exit 1
}
mv "$program.part" "$program"
echo "$program"
