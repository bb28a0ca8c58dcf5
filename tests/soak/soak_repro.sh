#!/bin/bash
# The libraries are built again, too, into another cache: the program has the same bytes.
# shellcheck source=tests/build/repro.sh
. "$(dirname "$0")/../build/repro.sh"
first=$(vendor/sysroot.sh)
cache=$(dirname "$first")
export KFTRAINER_CACHE=$scratch/cache

sources_too() {
	copy_tree && mkdir -p "$KFTRAINER_CACHE/sources" && cp -n "$cache"/sources/*_* "$KFTRAINER_CACHE/sources/"
}
check "the sources copied elsewhere" sources_too
check "the libraries are built again" "$copy/vendor/build.sh"
check "and so is the program" build_again
if cmp -s "$first/versions" "$(vendor/sysroot.sh)/versions"; then
	check "and gives the same bytes" same
else # a revision has left the mirror between the two builds
	skip "and gives the same bytes" "the second libraries are of other versions than vendor/lock names"
fi
finish
