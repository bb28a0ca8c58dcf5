# repro.sh - for tests that build ./kftrainer a second time: a copy of the sources in another folder.
# shellcheck shell=bash
# shellcheck source=tests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
copy=$scratch/another/folder/src

copy_tree() {
	mkdir -p "$copy"
	files | tar -cf - --null -T - | tar -xf - -C "$copy"
}
build_again() { nice make -C "$copy" -j"$(nproc)" kftrainer; }
same() {
	sha256sum kftrainer "$copy/kftrainer"
	cmp kftrainer "$copy/kftrainer" && return
	echo "changed since ./kftrainer was linked: $(find core cmd plugins gpu main.c -newer kftrainer -printf "%p ")"
	return 1
}
