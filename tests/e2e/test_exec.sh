#!/bin/bash
# `kftrainer exec` against real kubelets: exit codes, input and its end, terminals, rights, lost connections.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_shared
x() { in_cluster timeout 120 "$kftrainer" exec -n $ns "$@"; }
# A command of the program on a terminal: ARGUMENT... of tests/on_terminal.py
tty_x() { in_cluster timeout 120 python3 tests/on_terminal.py "$kftrainer" exec -n $ns "$@"; }
exits() { # CODE LIKE COMMAND...: ends with the code; what it says matches
	local want=$1 like=$2 got
	shift 2
	"$@" >"$scratch/out" 2>"$scratch/err" </dev/null
	got=$?
	[ $got = "$want" ] && { [ -z "$like" ] || cat "$scratch/out" "$scratch/err" | tr '\n' ' ' | grep -qE -e "$like"; } && return
	echo "exit code $got, expected $want and /$like/"
	head -c 2000 "$scratch/out" "$scratch/err"
	return 1
}
one_line() { exits "$@" && [ "$(wc -l <"$scratch/err")" = 1 ] || { cat "$scratch/err"; return 1; }; }
until_go='trap "exit 143" TERM; until [ -e /tmp/go ]; do sleep 0.2; done'
check "a job of two nodes" train two "$(sh 2 "$until_go")"
check "... runs" run two 2

# ---- exit codes, output, input -----------------------------------------------------------------------------
check "output, and status 0" exits 0 '^trained $' x two -- echo trained
check "rank 1 by its own name" exits 0 '^two-node-0-1 $' x two --rank 1 -- hostname
check "the command's exit code" exits 41 '' x two -- sh -c 'exit 41'
check "... 255" exits 255 '' x two -- sh -c 'exit 255'
check "a signal is 128 + its number" exits 137 '' x two -- sh -c 'kill -9 $$'
check "errors go to standard error" eval 'x two -- sh -c "echo out; echo err >&2" >"$scratch/out" 2>"$scratch/err" &&
	[ "$(cat "$scratch/out")" = out ] && [ "$(cat "$scratch/err")" = err ]'
check "a command that does not exist: 127 and one line" one_line 127 'no-such-command.*not found' x two -- no-such-command
check "one that cannot be run: 126" one_line 126 'permission denied' x two -- /etc/passwd
check "arguments arrive as they are" exits 0 '^\[a b\]\[\*\]\[\]\[&=%\]\[ä\] $' x two -- sh -c 'printf "[%s]" "$@"; echo' sh 'a b' '*' '' '&=%' ä
check "input arrives, and its end" eval '[ "$(printf "one\ntwo\n" | x two -i -- cat)" = "$(printf "one\ntwo")" ]'
check "... output may follow that end" eval '[ "$(echo in | x two -i -- sh -c "cat >/dev/null; sleep 2; echo late")" = late ]'
check "... empty input ends at once" exits 0 '^0 $' x two -i -- wc -c
check "without -i the command has none" eval '[ -z "$(echo in | x two -- cat)" ]'
check "a command that does not read its input ends" eval 'yes | head -c 100000 | x two -i -- true'
same() { # 10 MB there and back, whatever the pieces
	head -c 10000000 /dev/urandom >"$scratch/bytes"
	x two -i -- cat <"$scratch/bytes" >"$scratch/back" && cmp "$scratch/bytes" "$scratch/back"
}
check "10 MB go there and back, in both directions at once" same
complete() { # kubernetes#124571: the end of the output was lost
	local i
	for i in 1 2 3 4 5; do
		[ "$(x two -- seq 1 300000 | tail -n 1)" = 300000 ] || return 1
	done
}
check "five times 300,000 lines, each to the last" complete
slowly() { [ "$(x two -- seq 1 300000 | { sleep 3; tail -n 1; })" = 300000 ]; }
check "... also where the reader is slow" slowly
check "a reader that leaves ends it" eval 'x two -- yes | head -n 1 | grep -qx y'
check "a container by its name" exits 0 '^here $' x two -c node -- echo here

# ---- terminals ---------------------------------------------------------------------------------------------
# The size comes after the command has started, as kubectl's does.
check "a terminal: its size, and Ctrl-C" exits 0 'size 33 101.*code 130' tty_x two -it -- sh -c 'until [ "$(stty size)" != "0 0" ]; do sleep 0.1; done; stty size; echo ready; sleep 100'
check "... a new size arrives" exits 0 'size 44 122' tty_x two -it -- bash -c 'echo resize; until [ "$(stty size)" = "44 122" ]; do sleep 0.1; done; stty size'
check "... Ctrl-D ends its input" exits 0 'code 0' tty_x two -it -- sh -c 'echo type; cat >/dev/null'
check "... is as it was after each end" exits 0 'restored.*restored.*restored' tty_x two -it -- sh -c 'echo die; sleep 100'
check "-t without a terminal says so" exits 0 'is no terminal' x two -it -- echo "done"

# ---- signals without a terminal ----------------------------------------------------------------------------
signalled() { # SIGNAL CODE: the command gets it, and does not remain
	local code
	rm -f "$scratch/begun"
	"${inside[@]}" "$kftrainer" exec -n $ns two -- sh -c "echo begun; sleep 77.$2; echo no" >"$scratch/begun" 2>"$scratch/err" &
	wait_for 30 grep -q begun "$scratch/begun"
	kill -s "$1" $!
	wait $!
	code=$?
	[ $code = "$2" ] && ! grep no "$scratch/begun" &&
		! x two -- sh -c 'cat /proc/[0-9]*/cmdline' | tr '\0' ' ' | grep "^sleep 77.$2\|sh -c echo begun" && return
	echo "exit code $code"
	cat "$scratch/err"
	return 1
}
check "Ctrl-C reaches the command" signalled INT 130
check "... SIGTERM, too" signalled TERM 143
check "... and the end of the terminal" signalled HUP 129

# ---- what is not there -------------------------------------------------------------------------------------
check "no such job" one_line 125 'twu.*two' x twu -- true
check "no such rank" one_line 125 'no pod of rank 7' x two --rank 7 -- true
check "no such container" one_line 125 'no container x; its containers: node' x two -c x -- true
check "a job that has not started" eval 'train early "{runtimeRef: {kind: TrainingRuntime, name: sh}, suspend: true, trainer: {command: [\"true\"]}}" &&
	one_line 125 "is suspended: run .kftrainer resume early -n [a-z0-9-]+. first" x early -- true'

# ---- rights ------------------------------------------------------------------------------------------------
make_user "$scratch/user"
as_user() { in_cluster timeout 60 "$kftrainer" exec --kubeconfig "$scratch/user" -n $ns "$@"; }
allow_exec ''
check "without the right: one line that names it" one_line 125 'may not (get|create) pods/exec in namespace' as_user two -- echo trained
allow_exec 'get, create'
check "with it" wait_for 20 exits 0 '^trained $' as_user two -- echo trained

# ---- lost connections --------------------------------------------------------------------------------------
begin() { # a command in the background that has begun
	rm -f "$scratch/begun"
	x two -- sh -c 'echo begun; sleep 300' >"$scratch/begun" 2>"$scratch/lost" &
	begun=$!
	wait_for 30 grep -q begun "$scratch/begun"
}
check "a command runs" begin
k delete pod "$(pods two | tr ' ' '\n' | grep node-0-0)" --grace-period=0 --force >/dev/null 2>&1
check "its pod goes: 137, as the command was killed, or one line" eval 'wait $begun; code=$?; [ $code = 137 ] || { [ $code = 125 ] && [ $(wc -l <"$scratch/lost") = 1 ]; } || { echo "code $code"; cat "$scratch/lost"; false; }'
k delete trainjobs --all --wait=false >/dev/null
finish
