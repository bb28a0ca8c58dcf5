#!/bin/bash
# What kind of file ./kftrainer is.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"

static_pie() { file -b kftrainer | grep 'static-pie linked' | grep stripped; }
dynamic() { readelf -dW kftrainer; }
no_needed() { ! dynamic | grep -E 'NEEDED|RUNPATH|RPATH'; }
bind_now() { dynamic | grep -E 'FLAGS.*NOW'; }
segments() { readelf -lW kftrainer; }
no_interpreter() { ! segments | grep -E 'INTERP'; }
relro() { segments | grep -E 'GNU_RELRO'; }
stack() { segments | awk '/GNU_STACK/ { exit !($6 == "0x100000" && $7 == "RW") }'; }
no_build_id() { ! readelf -nW kftrainer 2>/dev/null | grep 'Build ID'; }
never_both() { ! segments | grep -E 'LOAD.* RWE '; }
no_paths() {
	local path
	for path in "$PWD"/{core,cmd,plugins,build,main} "$(dirname "$(vendor/sysroot.sh)")"; do
		! grep -qF "$path" kftrainer || { echo "it holds $path"; return 1; }
	done
}
small() { [ "$(stat -c %s kftrainer)" -le $((6 << 20)) ]; }
runs_bare() { env -i ./kftrainer version; }

check "is a stripped static PIE" static_pie
check "asks for no shared library" no_needed
check "asks for no interpreter" no_interpreter
check "resolves everything at start (BIND_NOW)" bind_now
check "has its relocations read-only after start (RELRO)" relro
check "has a stack of 1 MiB that does not run code" stack
check "has no segment both writable and executable" never_both
check "has no build id" no_build_id
check "names no folder of the machine that built it" no_paths
check "is at most 6 MiB" small
check "runs with an empty environment" runs_bare
finish
