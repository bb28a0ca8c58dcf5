#!/bin/bash
# The same seeds make the same schedules in two builds: musl and gcc -O2; glibc, clang -O0 and the sanitizers.
# And a schedule that fails is shown with its seed, and no longer than what makes it fail.
# shellcheck disable=SC1091,SC2154 # tap.sh
. "$(dirname "$0")/../tap.sh"
for world in cache:50 jobs:5 journal:20 supervise:50 toy:200; do
	n=${world#*:}
	for build in rel san; do
		"build/$build/tests/sim/${world%:*}" --schedules "$n" --seed 1 --trace >"$scratch/$build"
		status=$?
	done
	check "${world%:*}: traces of $n seeds in two builds" cmp "$scratch/rel" "$scratch/san"
	[ "$world" = toy:200 ] || check "${world%:*}: a line of each seed" test "$(grep -c '^# seed' "$scratch/rel")" = "$n"
done
page=$(sed -n '/^# seed [0-9]*: /,$p' "$scratch/rel" | grep '^#')
check "a world with a fault: the status says so" test "$status" = 1
check "its seed, and the rule that broke" grep -qE '^# seed [0-9]+: [0-9]+ writes made [0-9]+$' <<<"$page"
check "no more than it needs: of six clients three, of 24 writes six" test "$(grep -c writes <<<"$page")" -le 7
check "and its last line" grep -q BROKEN <<<"$page"
seed=$(sed -n 's/^# seed \([0-9]*\): .*/\1/p' <<<"$page")
again=$(build/rel/tests/sim/toy --seed "$seed" | grep '^#')
check "the seed alone shows the same" test "$again" = "$page"
build/rel/tests/sim/toy --seed x >/dev/null 2>"$scratch/said"
check "an option without a number: 2, and how to use it" test $?:"$(cut -d' ' -f1 "$scratch/said")" = 2:usage:
finish
