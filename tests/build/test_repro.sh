#!/bin/bash
# The same sources make the same program, bit for bit: here, and from a copy in
# another folder with libraries built again into another cache. Those second
# libraries are kept, so that only the first run builds them.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
first=$(vendor/sysroot.sh)
cache=$(dirname "$first")
copy=$scratch/another/folder/src
export KFTRAINER_CACHE=$cache/repro

copy_tree() {
	mkdir -p "$copy" "$KFTRAINER_CACHE/sources"
	cp -n "$cache"/sources/*_* "$KFTRAINER_CACHE/sources/"
	{ git ls-files -z --cached --others --exclude-standard | xargs -0 ls -d 2>/dev/null; } |
		tar -cf - -T - | tar -xf - -C "$copy"
}
build_again() { "$copy/vendor/build.sh" && make -C "$copy" -j"$(nproc)" kftrainer; }
pinned() { [ ! -e "$1/unpinned" ] || { echo "not the revisions of vendor/lock:"; cat "$1/unpinned"; return 1; }; }
same() { sha256sum kftrainer "$copy/kftrainer" && cmp kftrainer "$copy/kftrainer"; }

check "the sources copied elsewhere" copy_tree
check "build there" build_again
if pinned "$first" >/dev/null && pinned "$(vendor/sysroot.sh)" >/dev/null; then
	check "and give the same bytes" same
else
	skip "and give the same bytes" "a source is not the revision that vendor/lock names"
fi
finish
