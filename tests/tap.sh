# tests/tap.sh: for shell tests. Source it, call `check` for each test, then `finish`.
# shellcheck shell=bash
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tests=0 failures=0

# check WHAT COMMAND...: passed when the command succeeds; what it printed is shown
# when it does not.
check() {
	local what=$1
	shift
	tests=$((tests + 1))
	if "$@" >"$scratch/check" 2>&1; then
		echo "ok $tests - $what"
	else
		echo "not ok $tests - $what"
		sed 's/^/# /' "$scratch/check"
		failures=$((failures + 1))
	fi
}

skip() { # WHAT WHY
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

finish() {
	echo "1..$tests"
	[ "$failures" = 0 ]
	exit
}
