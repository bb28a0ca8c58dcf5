# said.sh - for shell tests of a command's outcome, after tap.sh. The command is run by the function
# `run`, or the one that $runner names: standard output in $scratch/out, errors in $scratch/err, the
# exit code in $status.
# shellcheck shell=bash disable=SC2154 # of tap.sh, and of the function

dump() {
	echo "status $status; stdout:"
	head -c 3000 "$scratch/out"
	echo "stderr:"
	head -c 3000 "$scratch/err"
	return 1
}

# says STATUS REGEX ARGUMENT...: it exits so, and a line of either output matches.
says() {
	local want=$1 like=$2
	shift 2
	"${runner:-run}" "$@"
	[ "$status" = "$want" ] && cat "$scratch/out" "$scratch/err" | grep -Eq -e "$like" || dump
}

# also REGEX: of the last command, a line of either output matches, too.
also() { cat "$scratch/out" "$scratch/err" | grep -Eq -e "$1" || dump; }
