#!/bin/bash
# tests/check.sh LAYER...
#
# `make check`: runs the make targets named, all of them whatever fails, and ends
# with the totals. A layer whose target fails without saying which test did is
# itself a failed test; one that records no tests of its own counts as one.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export RESULTS=${RESULTS:-$PWD/build/results}
unset MAKEFLAGS MFLAGS # each layer's compiler runs get all processors, whoever called
mkdir -p "$(dirname "$RESULTS")"
rm -f "$RESULTS"
touch "$RESULTS"
for layer in "$@"; do
	echo "== $layer"
	begin=$SECONDS
	before=$(wc -l <"$RESULTS")
	"${MAKE:-make}" --no-print-directory -j"${JOBS:-$(nproc)}" "$layer"
	status=$?
	new=$(tail -n +$((before + 1)) "$RESULTS")
	if [ $status != 0 ] && ! grep -q '^not ok ' <<<"$new"; then
		echo "not ok $layer make $layer ends with status $status" >>"$RESULTS"
	elif [ -z "$new" ]; then
		echo "ok $layer" >>"$RESULTS"
	fi
	echo "   $((SECONDS - begin)) s"
done
echo
exec tests/tally.sh "$RESULTS"
