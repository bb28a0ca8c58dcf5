#!/bin/sh
# tests/lint/style.sh FILE...: names those that .clang-format would lay out otherwise.
# The version counts: another one's taste differs, so without it this is skipped.
if ! command -v clang-format-14 >/dev/null; then
	echo "skip lint style: clang-format-14 is not installed" | tee -a "${RESULTS:-/dev/null}"
	exit 0
fi
bad=$(clang-format-14 --dry-run "$@" 2>&1 | sed -n 's/:[0-9]*:[0-9]*: warning:.*//p' | sort -u)
[ -z "$bad" ] || printf '%s: not as .clang-format has it: make format\n' $bad
[ -z "$bad" ]
