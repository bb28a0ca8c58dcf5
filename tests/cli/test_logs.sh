#!/bin/bash
# `logs -f` of a server whose answers break off, in the middle of lines, again and again;
# and `logs`, `wait`, `delete`, `suspend` of jobs of this machine.
. "$(dirname "$0")/lib.sh"
server=$PWD/tests/bench/logserver.py
cd "$scratch" || exit 1

# server_up ARGUMENT...: with a kubeconfig in server/config; ends with server_down
server_up() {
	rm -rf server
	mkdir server
	mkfifo server/in
	python3 "$server" server "$@" <server/in >server/ready &
	server_pid=$!
	exec 9>server/in
	until grep -qs ready server/ready; do sleep 0.05; done
}
server_down() {
	exec 9>&-
	wait $server_pid
}
# each RANKS LINES: out has every line of every rank once, in order, behind its rank
each() {
	[ "$(wc -l <out)" = $(($1 * $2)) ] && awk '{
		if (!match($0, /^\[node-[0-9]+\] +rank [0-9]+ line [0-9]+ .* and so on$/)) { print; exit 1 }
		split($1, p, /[-\]]/); if (p[2] != $3 || $5 != next_[$3]++) { print "rank " $3 " line " $5; exit 1 } }' out
}
server_up --ranks 16 --rate 200 --seconds 3
run logs -f bench --kubeconfig server/config
check "the logs of 16 ranks: 0" test "$status" = 0
check "... each line once" each 16 600
run logs bench --rank 7 --tail 3 --kubeconfig server/config
check "... the last of one" test "$(cut -d' ' -f1-4 out | xargs)" = "rank 7 line 597 rank 7 line 598 rank 7 line 599"
server_down
server_up --ranks 8 --rate 500 --seconds 5 --cut 0.15
run logs -f bench --kubeconfig server/config
check "answers that break off: 0" test "$status" = 0
check "... each line once" each 8 2500
server_down
server_up --ranks 8 --rate 500 --seconds 5 --cut 0.15 --short
run logs -f bench --kubeconfig server/config
check "answers that end too early, in order: 0" test "$status" = 0
check "... each line once" each 8 2500
server_down
server_up --ranks 600 --rate 5 --seconds 6
run logs -f bench --kubeconfig server/config
check "more ranks than are followed at once: 0" eval 'tail -n 5 err; [ "$status" = 0 ]'
check "... each line once" each 600 30
server_down

# ---- of this machine ------------------------------------------------------------------------------
mkfifo go
"$kftrainer" submit --local -q --runtime torch-distributed --name slow -- sh -c 'echo first; read x <go; exit 0' >slow.out 2>&1 &
slow=$!
until [ "$("$kftrainer" logs slow 2>/dev/null)" = first ]; do sleep 0.05; done
check "wait --for running" says 0 '^trainjob slow is Running$' wait slow --for running
check "wait: the time is up" says 124 'timed out: TrainJob slow is Running' wait slow --timeout 100ms
"$kftrainer" wait slow >wait.out 2>&1 &
waiting=$!
echo >go
wait $slow
wait $waiting
check "wait: complete" test $? = 0
check "wait --for failed: it is complete" says 1 'slow is Complete' wait slow --for failed
check "wait: never existed" says 1 'no TrainJob nobody' wait nobody
check "suspend: it is complete" says 1 'a finished job cannot be suspended' suspend slow
check "resume: likewise" says 1 'a finished job cannot be resumed' resume slow
check "events: of its pods" says 0 'Started +pod/slow-node-0-0-' events slow
check "... and of itself" says 0 'Completed +trainjob/slow ' events slow
check "logs --since: lines have times" says 0 '^first$' logs slow --since 5m
check "... as old as they are" eval 'for _ in $(seq 100); do run logs slow --since 1s; [ -s "$scratch/out" ] || break; sleep 0.1; done; [ "$status" = 0 ] && [ ! -s "$scratch/out" ] || dump'
written=$(date -d "$("$kftrainer" logs slow --timestamps | cut -d' ' -f1)" +%s)
check "logs --since-time: of that second, in any offset" says 0 '^first$' logs slow --since-time "$(TZ=PKT-5 date -d "@$written" +%FT%T+05:00)"
check "... not of the next" eval 'run logs slow --since-time 2099-01-01T00:00:00Z; [ "$status" = 0 ] && [ ! -s "$scratch/out" ] || dump'
check "... no time" refuses "since-time: 'noon' is not a time like" logs slow --since-time noon
check "... and --since" refuses 'not both' logs slow --since 5m --since-time 2099-01-01T00:00:00Z
check "logs --timestamps" says 0 '^20[0-9-]{8}T[0-9:]{8}\.[0-9]{9}Z first$' logs slow --timestamps
check "logs --previous: nothing was restarted" says 1 'no container was restarted' logs slow --previous
check "logs -f --previous" refuses 'not both' logs slow -f --previous
check "delete" says 0 '^trainjob slow deleted, with its JobSet and 1 pod$' delete slow
check "... it is gone" says 1 'no TrainJob slow' get slow
"$kftrainer" submit --local -q --runtime torch-distributed --name runs -- sh -c 'echo first; sleep 100' >runs.out 2>&1 &
runs=$!
until [ "$("$kftrainer" logs runs 2>/dev/null)" = first ]; do sleep 0.05; done
"$kftrainer" logs -f runs >follow.out 2>&1 &
follow=$!
until grep -qs first follow.out; do sleep 0.05; done
kill -INT $follow
wait $follow
check "logs -f: Ctrl-C: 130" test $? = 130
check "delete: one that runs is ended" says 0 '^trainjob runs deleted, with its JobSet and 1 pod$' delete runs
wait $runs
check "... as by TERM: 143" test $? = 143
finish
