#!/bin/sh
# tests/tally.sh [RESULTS]
#
# The end of `make check`: lists the slowest programs, each layer's sums, what was skipped and why and
# what failed, then the totals over all layers. Reads the lines that tests/run.sh describes; any
# layer may append its own. The status is 1 if a test failed, or if none ran. More than 8 programs that
# passed only when they ran again are a failed test.
exec awk '
/^ok /     { passed++ }
/^not ok / { failed++; bad = bad "  FAILED   " substr($0, 8) "\n" }
/^skip /   { skipped++; left = left "  skipped  " substr($0, 6) "\n" }
/^again / { again = again "  again    " substr($0, 7) "\n"; if (!seen[$2 $3]++) twice++ }
/^time /   { time[++timed] = substr($0, 6); cpu[$4] += $3; wall[$4] += $2 }
END {
	if (timed) print "the slowest, in seconds and seconds of CPU:"
	fflush()
	for (i = 1; i <= timed; i++) print "  " time[i] | "sort -rn | head"
	close("sort -rn | head")
	if (timed) print "all programs of a layer, in the same units:"
	fflush()
	for (l in cpu) printf "  %.0f %.0f %s\n", wall[l], cpu[l], l | "sort -rn"
	close("sort -rn")
	if (twice > 8) {
		failed++
		bad = bad "  FAILED   check: " twice " programs passed only when they ran again\n"
	}
	printf "%s%s%s", left, again, bad
	printf "%d passed, %d failed", passed, failed
	printf skipped ? ", " skipped " skipped\n" : "\n"
	exit failed || !passed
}' "${1:-build/results}"
