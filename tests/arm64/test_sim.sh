#!/bin/bash
# The same seeds make the same schedules on 64-bit Arm (docs/simulation.md): of the controller, whose threads are
# coroutines of two stacks' switch in assembly, and of the data cache.
# shellcheck disable=SC1091,SC2154 # tap.sh
. "$(dirname "$0")/../tap.sh"
for world in cache:5 jobs:3; do
	for build in rel aarch64; do
		"build/$build/tests/sim/${world%:*}" --schedules "${world#*:}" --seed 1 --trace >"$scratch/$build"
	done
	check "${world%:*}: traces of ${world#*:} seeds on two processors" cmp "$scratch/rel" "$scratch/aarch64"
	check "${world%:*}: a line of each seed" test "$(grep -c '^# seed' "$scratch/rel")" = "${world#*:}"
done
finish
