#!/bin/bash
# The same seeds make the same schedules in two builds: musl and gcc -O2; glibc, clang -O0 and the sanitizers.
# shellcheck disable=SC1091,SC2154 # tap.sh
. "$(dirname "$0")/../tap.sh"
for world in cache:50 jobs:5; do
	n=${world#*:}
	for build in rel san; do
		"build/$build/tests/sim/${world%:*}" --schedules "$n" --seed 1 --trace >"$scratch/$build"
	done
	check "${world%:*}: traces of $n seeds in two builds" cmp "$scratch/rel" "$scratch/san"
	check "${world%:*}: a line of each seed" test "$(grep -c '^# seed' "$scratch/rel")" = "$n"
done
finish
