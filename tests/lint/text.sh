#!/bin/sh
# tests/lint/text.sh
#
# What no file of the repository may hold: white space at the end of a line, marks
# of a merge, unfinished business, and where it was written rather than where it
# is used (a path of the author's machine, a private host).
cd "$(dirname "$0")/../.." || exit 1
if git rev-parse --git-dir >/dev/null 2>&1; then
	list() { git ls-files -z; }
else
	list() { find . -name .git -prune -o -path ./build -prune -o -type f -print0; }
fi
# Recorded data is left as it was recorded; patches end some lines with a blank.
list | grep -zvE '(^|/)(tests/fuzz/corpus|tests/golden/.*/cases)/|\.patch$' |
	xargs -0 grep -nIE '[ 	]+$|^(<{7}|>{7}|={7})( |$)|[^A-Za-z](TOD[O]|FIXM[E]|XX[X])[^A-Za-z]|/w[o]rk/(main|shared)|[a-z0-9-]\.interna[l]([^A-Za-z]|$)' &&
	exit 1
exit 0
