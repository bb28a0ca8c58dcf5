#!/bin/sh
# tests/tally.sh [RESULTS]
#
# The end of `make check`: lists what failed and what was skipped and why, then
# the totals over all layers. Reads the lines that tests/run.sh describes; any
# layer may append its own. The status is 1 if a test failed, or if none ran.
exec awk '
/^ok /     { passed++ }
/^not ok / { failed++; bad = bad "  FAILED   " substr($0, 8) "\n" }
/^skip /   { skipped++; left = left "  skipped  " substr($0, 6) "\n" }
END {
	printf "%s%s", left, bad
	printf "%d passed, %d failed", passed, failed
	printf skipped ? ", " skipped " skipped\n" : "\n"
	exit failed || !passed
}' "${1:-build/results}"
