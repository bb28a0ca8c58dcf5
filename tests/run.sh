#!/bin/bash
# tests/run.sh LAYER PROGRAM...
#
# Runs test programs that speak TAP (cmocka's do when asked to, so do the shell
# tests). Under `make check`, which names a file in RESULTS, a line for each test is
# appended to it for tests/tally.sh:
#
#   ok|not ok|skip LAYER PROGRAM: TEST
#
# A program may run several groups, each with a plan of its own. One that dies, or
# runs other than as many tests as its plans announce, counts as a failed test. What
# a program printed is shown when something in it failed, but for what passed. Where TAP cannot hold why a
# test is skipped (cmocka's) a line "# skip: WHY" before it says so.
# The status is 1 if anything did, or if there was no test at all.
set -uo pipefail
layer=$1
shift
results=${RESULTS:-/dev/null}
out=$(mktemp)
trap 'rm -f "$out" "$out.tests"' EXIT
export CMOCKA_MESSAGE_OUTPUT=TAP ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}
passed=0 failed=0 skipped=0

# TAP in, result lines out; the program's exit status in `status`.
tests_of() { # NAME STATUS
	awk -v layer="$layer" -v name="$1" -v status="$2" '
	function line(word, test) { print word " " layer " " name (test == "" ? "" : ": " test) }
	/^# skip: / { why = " (" substr($0, 9) ")" }
	/^1\.\.[0-9]+/ { plan += substr($1, 4); planned = 1 }
	/^(not )?ok( |$)/ {
		word = /^not/ ? "not ok" : "ok"
		test = $0
		sub(/^(not )?ok *[0-9]* *(- *)?/, "", test)
		if (test ~ /# *[Ss][Kk][Ii][Pp]/) {
			word = "skip"
			sub(/ *# *[Ss][Kk][Ii][Pp] */, " ", test)
			sub(/^ +/, "", test)
			test = test why
		}
		why = ""
		ran++
		if (word == "not ok") bad++
		line(word, test)
	}
	END {
		if (!planned) line("not ok", "ended with status " status " before it said how many tests it has")
		else if (ran != plan) line("not ok", "ended with status " status " after " ran + 0 " of " plan " tests")
		else if (status != 0 && !bad) line("not ok", "ended with status " status)
	}'
}

count() { grep -c "^$1 " "$out.tests"; }

for program in "$@"; do
	name=${program#build/*/}
	name=${name#tests/}
	name=${name#"$layer"/}
	case $program in
	/*) "$program" >"$out" 2>&1 </dev/null ;;
	*) "./$program" >"$out" 2>&1 </dev/null ;;
	esac
	tests_of "$name" $? <"$out" >"$out.tests"
	cat "$out.tests" >>"$results"
	good=$(count ok) bad=$(count "not ok") left=$(count skip)
	if [ "$bad" -gt 0 ]; then
		printf '  FAIL  %s\n' "$name"
		grep -v '^ok ' "$out" | sed 's/^/        /'
	elif [ -n "${V:-}" ]; then
		printf '  ok    %s (%d)\n' "$name" "$good"
	fi
	grep '^skip ' "$out.tests" | sed 's/^/  /'
	passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + left))
done
echo "  $layer: $passed passed, $failed failed, $skipped skipped in ${SECONDS} s"
[ "$failed" -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
