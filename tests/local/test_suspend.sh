#!/bin/bash
# `suspend` and `resume` of jobs that run in another terminal.
# shellcheck disable=SC1091,SC2016,SC2154 # what is for other shells; jobs.sh
. "$(dirname "$0")/jobs.sh"
export KUBECONFIG="" HOME=$scratch

# begin NAME [ARGUMENT...]: a job of two pods that say how often they have begun, and end when NAME.over is there
begin() {
	local name=$1
	shift
	job "$name" 2 < <(node "trap 'echo told; exit 1' TERM; echo \$(date +%s%N) >>$name.\$JOB_COMPLETION_INDEX; echo begin; while [ ! -e $name.over ]; do sleep 0.05; done; echo end")
	"$kftrainer" submit --local "$@" "$name.yaml" >"$name.out" 2>&1 </dev/null &
	pid=$!
	until_true begun "$name" 1
}
begun() { [ "$(cat "$1".0 "$1".1 | wc -l)" = $((2 * $2)) ]; } # NAME TIMES
ends() { # PID CODE
	wait "$1"
	status=$?
	exits "$2"
}
says() { # CODE REGEX ARGUMENT...
	local code=$1 regex=$2
	shift 2
	run timeout 120 "$kftrainer" "$@"
	exits "$code" && printed "$regex"
}
no_pods() { ! pgrep -f "$1.over" >/dev/null; }

begin two
if strace -o /dev/null true 2>/dev/null; then
	run strace -f -o /dev/null -e inject=fsync:error=ENOSPC "$kftrainer" suspend two
	ok "on a full disk: not suspended, which is said" eval 'exits 1 && printed "No space left on device" && ! printed "suspended$"'
fi
ok "suspend" says 0 '^trainjob two suspended$' suspend two
ok "... wait for it" says 0 'two is Suspended' wait two --for suspended
ok "... its pods end" until_true no_pods two
ok "... as by TERM" until_true grep -q 'told' two.out
ok "... submit goes on, and says so" until_true grep -q "^suspended; resume with 'kftrainer resume --local two'$" two.out
ok "... again" says 0 '^trainjob two already suspended$' suspend two
ok "get: Suspended" says 0 '^two +Suspended ' get two
ok "why" says 0 'is suspended' why two
ok "events" says 0 'Suspended +trainjob/two ' events two
ok "logs: of no pods" says 1 'two is Suspended and has no pods' logs two
"$kftrainer" logs -f two >follow.out 2>&1 &
follow=$!
ok "logs -f: says what it waits for" until_true grep -q 'TrainJob two is Suspended' follow.out
ok "resume" says 0 '^trainjob two resumed$' resume two
ok "... again" says 0 '^trainjob two not suspended$' resume two
ok "... its pods begin anew" until_true begun two 2
ok "wait --for condition" says 0 'two is' wait two --for condition=Suspended=False
ok "of several the others go on" says 1 'two suspended' suspend nobody two
ok "resume --all" says 0 '^trainjob two resumed$' resume --all
until_true begun two 3
touch two.over
ok "it ends as others do" ends $pid 0
wait $follow
status=$?
cp follow.out out
ok "... and logs -f with it" exits 0
ok "... which has its last lines" lines 2 '^\[node-[01]\] end$'
ok "one that has ended is refused" says 1 'TrainJob two is Complete: a finished job cannot be suspended' suspend two
ok "... and left out of --all" says 0 '^skipped 1 finished job$' suspend --all

begin stop
says 0 . suspend stop
until_true no_pods stop
kill -TERM $pid
ok "TERM while it is suspended: 143" ends $pid 143
ok "... it has failed" says 0 'stop +Failed .*Interrupted' get stop -o wide
begin late --timeout 10s
says 0 . suspend late
ok "--timeout while it is suspended: 124" ends $pid 124
begin killed
says 0 . suspend killed
until_true no_pods killed
kill -KILL $pid
wait $pid 2>/dev/null
ok "KILL while it is suspended" says 0 'killed +Failed .*Interrupted' get killed -o wide
ok "... it cannot be resumed" says 1 'finished job cannot be resumed' resume killed
begin gone
says 0 . suspend gone
ok "delete" says 0 '^trainjob gone deleted' delete gone
ok "... it ends" ends $pid 143
export KFTRAINER_ISOLATION=none
begin plain -q
says 0 . suspend plain
ok "without namespaces" until_true no_pods plain
says 0 . resume plain
ok "... likewise" until_true begun plain 2
touch plain.over
ok "... to the end" ends $pid 0
finish
