#!/bin/bash
# Every test of tests/cluster (or those named) with the program under ASan and UBSan: they
# pass, and no process of it has left a report, leaks at its end included.
#
#   tests/soak/soak_sanitized.sh [tests/cluster/test_hostile.sh]...
cd "$(dirname "$0")/../.." || exit 1
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
export KFTRAINER=$PWD/build/san/kftrainer
# What the end of the process frees: cmd/ui/fold.h, the thread of core/runs.
printf 'leak:fold_begin\nleak:runs_keep\n' >"$reports/known"
export LSAN_OPTIONS=suppressions=$reports/known:print_suppressions=0
export ASAN_OPTIONS=detect_leaks=1:log_path=$reports/asan UBSAN_OPTIONS=print_stacktrace=1:log_path=$reports/asan
[ $# -gt 0 ] || set -- tests/cluster/test_*
tests/run.sh sanitized "$@"
status=$?
for report in "$reports"/asan.*; do
	[ -e "$report" ] || continue
	echo "not ok - $report"
	sed 's/^/# /' "$report"
	status=1
done
exit $status
