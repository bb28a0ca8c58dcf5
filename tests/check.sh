#!/bin/bash
# tests/check.sh LAYER[+LAYER]...
#
# `make check`: runs the make targets named, all of them whatever fails, and ends
# with the totals. Those joined by + run at the same time (they mostly wait), up to AT_ONCE
# (default 3) of them, the next when one ends; the output of the second and later ones comes
# after that of the first. A layer whose target
# fails without saying which test did is itself a failed test; one that records no
# tests of its own counts as one.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
results=${RESULTS:-$PWD/build/results}
export AGAIN=${AGAIN:-4} # see tests/run.sh
# On a machine that is several times slower than usual, what has not begun after MINUTES is named and skipped.
export KFT_BEGIN_BY=${KFT_BEGIN_BY:-$((EPOCHSECONDS + ${MINUTES:-65} * 60))}
# What was compiled for an earlier run comes from ccache, which notices any change of source, compiler, or option.
if CCACHE=$(command -v ccache); then
	cache=$(vendor/sysroot.sh)
	export CCACHE CCACHE_DIR=${cache%/*}/ccache CCACHE_MAXSIZE=1G CCACHE_NOHASHDIR=1
fi
unset MAKEFLAGS MFLAGS # each layer's compiler runs get all processors, whoever called
mkdir -p "$(dirname "$results")"
: >"$results"

# Whether the machine, not a test, was at fault: seconds in which all waited for memory or the disk, that the host
# took, and in which nothing ran at all (a pause of 5 s or more).
stalls() {
	awk '/^cpu / { printf "%d ", $9 / 100 } /^full/ { split($5, t, "="); printf "%d ", t[2] / 1e6 }' /proc/stat /proc/pressure/memory /proc/pressure/io
}
watch_pauses() {
	local at=$EPOCHSECONDS total=0
	while sleep 1 && kill -0 $$; do
		[ $((EPOCHSECONDS - at)) -lt 5 ] || echo $((total += EPOCHSECONDS - at)) >"$results.pauses"
		at=$EPOCHSECONDS
	done
}
say_stalls() { # what stalls() said at the start
	read -r stolen memory io <<<"$1"
	read -r stolen_now memory_now io_now <<<"$(stalls)"
	echo "the machine: $((stolen_now - stolen)) s taken by the host, $((memory_now - memory)) s waiting for memory, $((io_now - io)) s for the disk," \
		"$(cat "$results.pauses") s in pauses"
}
at_start=$(stalls 2>/dev/null)
echo 0 >"$results.pauses"
watch_pauses >/dev/null 2>&1 &
watching=$!

layer() { # NAME
	local begin=$SECONDS status
	echo "== $1"
	: >"$results.$1"
	RESULTS=$results.$1 "${MAKE:-make}" --no-print-directory -j"${JOBS:-$(nproc)}" "$1"
	status=$?
	if [ $status != 0 ] && ! grep -q '^not ok ' "$results.$1"; then
		echo "not ok $1 make $1 ends with status $status" >>"$results.$1"
	elif [ ! -s "$results.$1" ]; then
		echo "ok $1" >>"$results.$1"
	fi
	echo "   $((SECONDS - begin)) s"
}

for group in "$@"; do
	IFS=+ read -r -a layers <<<"$group"
	layer "${layers[0]}" &
	running=1
	for name in "${layers[@]:1}"; do
		[ $running -lt "${AT_ONCE:-3}" ] || { wait -n; running=$((running - 1)); }
		layer "$name" >"$results.$name.out" 2>&1 &
		running=$((running + 1))
	done
	# shellcheck disable=SC2046
	wait $(jobs -p | grep -vx $watching)
	for name in "${layers[@]:1}"; do
		cat "$results.$name.out"
		rm -f "$results.$name.out"
	done
	for name in "${layers[@]}"; do
		cat "$results.$name" >>"$results"
		rm -f "$results.$name"
	done
done
kill $watching
echo
[ -z "$at_start" ] || say_stalls "$at_start"
rm "$results.pauses"
exec tests/tally.sh "$results"
