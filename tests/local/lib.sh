# lib.sh - for the tests of `submit --local`: tests/tap.sh, a run whose output is kept, and a state
# folder of the test's own.
# shellcheck shell=bash
# shellcheck source=tests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
# shellcheck disable=SC2034 # the tests use it
kftrainer=${KFTRAINER:-$PWD/kftrainer}
export XDG_STATE_HOME=$scratch/state

# Runs it; what it prints lands in $scratch/out, its exit status in $status.
run() {
	"$@" >"$scratch/out" 2>&1 </dev/null
	# shellcheck disable=SC2034 # exits() reads it
	status=$?
}

# ok WHAT COMMAND...: one test about the last run, whose output is shown when it fails.
ok() {
	local what=$1
	shift
	tests=$((tests + 1))
	if "$@"; then
		echo "ok $tests - $what"
	else
		echo "not ok $tests - $what"
		sed 's/^/# /' "$scratch/out" 2>/dev/null
		failures=$((failures + 1))
	fi
}

exits() { [ "$status" = "$1" ]; }
printed() { grep -Eq -e "$1" "$scratch/out"; }
not_printed() { ! printed "$1"; }
