# tests/tap.sh: for shell tests. Source it, call `check` for each test, then `finish`.
# shellcheck shell=bash
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
scratch=$(mktemp -d)
tests=0 failures=0

# at_exit COMMAND: the command ends the test, in place of the one before it, and then $scratch goes. Only in the test's
# own shell: one that was forked and is killed before it executes its command runs the trap, too.
at_exit() {
	# shellcheck disable=SC2064 # the command is known now
	trap '[ $BASHPID != $$ ] || { '"$1"'; rm -rf "$scratch"; }' EXIT
}
at_exit :

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

# The files of the repository, each ended by a NUL; in an unpacked tarball all there are.
files() { # PATTERN...
	if git rev-parse --git-dir >/dev/null 2>&1; then
		git ls-files -z --cached --others --exclude-standard -- "$@" | while read -r -d '' file; do
			[ ! -e "$file" ] || printf '%s\0' "$file"
		done
	else
		find . -path ./build -prune -o -path ./kftrainer -prune -o -type f -printf '%P\0' |
			while read -r -d '' file; do
				for pattern in "${@:-*}"; do
					# shellcheck disable=SC2053
					[[ $file != $pattern ]] || { printf '%s\0' "$file"; break; }
				done
			done
	fi
}

# Sets venv to what people train with; without it the test ends.
stack_venv() { # SETUP.SH
	venv=$("$1" venv stack)
	[ -e "$venv/.done" ] && return
	check "what people train with is installed" eval 'echo "tests/setup.sh stack"; false'
	finish
}

skip() { # WHAT WHY
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

finish() {
	finished=1
	echo "1..$tests"
	[ "$failures" = 0 ]
	exit
}
