#!/bin/sh
# tests/fuzz/run.sh TARGET...
#
# Search with each target for FUZZTIME seconds (60). New inputs collect in
# build/fuzz/corpus/TARGET; what broke a target is left in build/fuzz.
set -u
failed=0
for target in "$@"; do
	mkdir -p "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target"
	words=tests/fuzz/$target.dict
	log=build/fuzz/$target.log
	[ -e "$words" ] && set -- -dict="$words" || set --
	if "build/fuzz/fuzz_$target" -max_total_time="${FUZZTIME:-60}" -timeout=20 -rss_limit_mb=4096 \
		-artifact_prefix="build/fuzz/$target-" -print_final_stats=1 "$@" \
		"build/fuzz/corpus/$target" "tests/fuzz/corpus/$target" 2>"$log"; then
		printf '  fuzz: %s: %s inputs tried\n' "$target" \
			"$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
	else
		failed=1
		tail -n 40 "$log"
		printf '  fuzz: %s FAILED, see %s\n' "$target" "$log"
	fi
done
exit $failed
