#!/bin/bash
# `kftrainer exec --local`, and of a pod of `controller --local`: as in a cluster (tests/e2e/test_exec.sh).
# shellcheck disable=SC2016,SC2154 # what is for the shells of pods; server.sh
# shellcheck source=tests/local/server.sh
. "$(dirname "$0")/server.sh"
tty=$PWD/tests/on_terminal.py
cd "$scratch" || exit 1
begin() { # NAME [ARGUMENT...]: a job of two nodes, which ends with the file `go`
	local name=$1
	shift
	"$kftrainer" submit --local --detach -q --name "$name" --runtime torch-distributed --nodes 2 "$@" -- \
		sh -c 'until [ -e go ]; do sleep 0.1; done' >/dev/null
}
x() { timeout 120 "$kftrainer" exec --local "$@"; }
exits() { # CODE LIKE COMMAND...
	local want=$1 like=$2 got
	shift 2
	"$@" >out 2>err </dev/null
	got=$?
	[ $got = "$want" ] && { [ -z "$like" ] || cat out err | tr '\n' ' ' | grep -qE -e "$like"; } && return
	echo "exit code $got, expected $want and /$like/"
	cat out err
	return 1
}
one_line() { exits "$@" && [ "$(wc -l <err)" = 1 ] || { cat err; return 1; }; }
everything() { # JOB
	job=$1
	check "output, and status 0" exits 0 '^trained $' x "$job" -- echo trained
	check "the command's exit code" exits 41 '' x "$job" -- sh -c 'exit 41'
	check "a signal is 128 + its number" exits 137 '' x "$job" -- sh -c 'kill -9 $$'
	check "errors go to standard error" eval 'x "$job" -- sh -c "echo out; echo err >&2" >out 2>err && [ "$(cat out) $(cat err)" = "out err" ]'
	check "the environment of the rank" exits 0 '^1 $' x "$job" --rank 1 -- sh -c 'echo $PET_NODE_RANK'
	check "a command that does not exist: 127 and one line" one_line 127 'no-such-command: No such file' x "$job" -- no-such-command
	check "one that cannot be run: 126" one_line 126 'Permission denied' x "$job" -- /etc/passwd
	check "arguments arrive as they are" exits 0 '^\[a b\]\[\*\]\[\]\[ä\] $' x "$job" -- sh -c 'printf "[%s]" "$@"; echo' sh 'a b' '*' '' ä
	check "input arrives, and its end" eval '[ "$(printf "one\ntwo\n" | x "$job" -i -- cat)" = "$(printf "one\ntwo")" ]'
	check "without -i the command has none" eval '[ -z "$(echo in | x "$job" -- cat)" ]'
	check "a command that does not read its input ends" eval 'yes | x "$job" -i -- true'
	check "a reader that leaves ends it" eval 'x "$job" -- yes | head -n 1 | grep -qx y'
	check "a terminal: its size, and Ctrl-C" exits 0 'size 33 101.*code 130' python3 "$tty" "$kftrainer" exec --local "$job" -it -- sh -c 'stty size; echo ready; sleep 100'
	check "... a new size arrives" exits 0 'size 44 122' python3 "$tty" "$kftrainer" exec --local "$job" -it -- bash -c 'echo resize; until [ "$(stty size)" = "44 122" ]; do sleep 0.1; done; stty size'
	check "... Ctrl-D ends its input" exits 0 'code 0' python3 "$tty" "$kftrainer" exec --local "$job" -it -- sh -c 'echo type; cat >/dev/null'
	check "... is as it was after each end" exits 0 'restored.*restored.*restored' python3 "$tty" "$kftrainer" exec --local "$job" -it -- sh -c 'echo die; sleep 100'
	check "-t without a terminal says so" exits 0 'is no terminal' x "$job" -it -- echo 'done'
	check "no such rank" one_line 125 "no pod of rank 7; 'kftrainer get --local $job -n default -o wide' shows" x "$job" --rank 7 -- true
	check "no such container" one_line 125 'no container x; its containers: node' x "$job" -c x -- true
}
begin two
everything two
check "in the pod's namespaces" exits 0 '^two-node-0-0 [1-9]' x two -- sh -c 'hostname; echo $$'
check "... and directory" exits 0 "^$scratch \$" x two -- pwd
signalled() { # SIGNAL: the command gets it
	timeout 120 "$kftrainer" exec --local two -- sh -c 'trap "exit 9" TERM; echo up; while :; do sleep 0.1; done' >out 2>err &
	until_true grep -q up out
	pkill -TERM -P $! kftrainer
	wait $!
	[ $? = 9 ]
}
check "a signal reaches the command" signalled
killed() {
	timeout 120 "$kftrainer" exec --local two -- sh -c "echo up; exec sleep 98.$$" >out 2>err &
	until_true grep -q up out
	pkill -KILL -P $! kftrainer
	wait $!
	until_true eval "! pgrep -f '^sleep 98.$$\$'"
}
check "the command ends with the program" killed
x two -- sh -c 'echo up; exec sleep 300' >up 2>up.err &
check "a command runs" until_true grep -q up up
touch go
until_true eval '"$kftrainer" get two -o json --local | grep -q "\"Complete\""'
check "... and ends with its pod" eval 'wait $!; [ $? = 137 ]'
check "a job that has finished" one_line 125 'two is Complete: no pod of it runs any more' x two -- true
check "no such job" one_line 125 'twu.*two' x twu -- true
rm go
export KFTRAINER_ISOLATION=none
begin plain
check "without namespaces, too" exits 0 '^0 $' x plain -- sh -c 'echo $PET_NODE_RANK'
check "... its exit code" exits 7 '' x plain -- sh -c 'exit 7'
unset KFTRAINER_ISOLATION
"$kftrainer" delete plain --local >/dev/null
up
x() { timeout 120 "$kftrainer" exec "$@"; }
"$kftrainer" submit -q --name served --runtime torch-distributed --nodes 2 -- sh -c 'while :; do sleep 0.1; done' >/dev/null 2>&1
until_true exits 0 '' x served -- true
check "of a server: the rank's environment" exits 0 '^1 $' x served --rank 1 -- sh -c 'echo $PET_NODE_RANK'
check "... its exit code" exits 41 '' x served -- sh -c 'exit 41'
check "... input" eval '[ "$(echo in | x served -i -- cat)" = in ]'
check "... no such command" one_line 127 'no-such-command: No such file' x served -- no-such-command
"$kftrainer" delete served >/dev/null
finish
