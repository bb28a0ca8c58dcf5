# lib.sh - for the tests of `submit --local` with real frameworks: TAP and a state folder of their own.
# shellcheck shell=bash
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
kftrainer=${KFTRAINER:-$PWD/kftrainer}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_STATE_HOME=$scratch/state
tests_run=0

# ok WHAT COMMAND...: one test, passed when the command succeeds.
ok() {
	local what=$1
	shift
	tests_run=$((tests_run + 1))
	if "$@"; then
		echo "ok $tests_run - $what"
	else
		echo "not ok $tests_run - $what"
		sed 's/^/# /' "$scratch/out" 2>/dev/null
	fi
}

skip() { # WHAT WHY
	tests_run=$((tests_run + 1))
	echo "ok $tests_run - $1 # SKIP $2"
}

# Runs it; what it prints lands in $scratch/out, its exit status in $status.
run() {
	"$@" >"$scratch/out" 2>&1 </dev/null
	status=$?
}

exits() { [ "$status" = "$1" ]; }
printed() { grep -Eq -e "$1" "$scratch/out"; }
not_printed() { ! printed "$1"; }
done_testing() { echo "1..$tests_run"; }
