#!/bin/bash
# Checkpoints of FSDP2 on two nodes are kept in a run directory: ranks are killed at random points, and a job whose directory
# is all that is left goes on; the losses are those of a run that nobody disturbs. (STACKS='hf fsdp2 lightning' KILLS=10 in make soak)
# before: tests/setup.sh stack
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/stacks.sh"
KILLS=${KILLS:-1}

# train NAME WHAT OPTION...
train() {
	local name=$1 what=$2
	mkdir -p "$name"
	"$kftrainer" submit --local --run-dir "file://$scratch/runs-${name%-again}" --annotation kftrainer.io/restarts=99 \
		--annotation kftrainer.io/restart-grace=1s --name "$name" --runtime torch-distributed --nodes 2 "${@:3}" -- \
		python "$stacks/runs.py" "$what" "$scratch/$name" >"$name.out" 2>&1 </dev/null
}
begun() { [ "$(grep -c "begins $2 rank" "$1.out")" = 2 ] && sed "1,/begins $2 rank/d" "$1.out" | grep -q 'loss'; }
saved() { compgen -G "$1/checkpoints/*20*.complete" >saved; }
losses() { sed -nE 's/^(\[[^ ]+\] +)?loss ([0-9]+) (.*)$/\2 \3/p' "$@" | awk '{ last[$1] = $2 } END { for (i = 1; i <= 30; i++) print i, last[i] }'; }

for what in ${STACKS:-fsdp2}; do
	train "$what-killed" "$what" &
	pid=$!
	for ((i = 0; i < KILLS; i++)); do
		until_true begun "$what-killed" "$i"
		sleep "$((RANDOM % 5)).$((RANDOM % 10))"
		mapfile -t ranks < <(pgrep -f "^python .*/runs.py $what $scratch/$what-killed$")
		[ ${#ranks[@]} = 2 ] && kill -9 "${ranks[RANDOM % 2]}"
	done
	until_true begun "$what-killed" "$KILLS"
	# The whole job ends; another continues it on nodes without anything.
	until_true saved "runs-$what-killed"
	kill $pid
	wait $pid
	cp "$what-killed.out" out
	ok "$what: ranks are killed $KILLS times" lines 2 "begins $KILLS rank [01] at "
	mkdir "$what-killed-again"
	touch "$what-killed-again/go"
	train "$what-killed-again" "$what" --annotation kftrainer.io/resume=true
	status=$?
	cp "$what-killed-again.out" out
	ok "... a job continues the directory of another: exits 0" exits 0
	ok "... from a checkpoint, both ranks" lines 2 'begins 0 rank [01] at (20|25|30)'
	mkdir "$what-calm"
	touch "$what-calm/go"
	train "$what-calm" "$what"
	status=$?
	cp "$what-calm.out" out
	ok "... a run that nobody disturbs" exits 0
	losses "$what-calm.out" >calm.losses
	losses "$what-killed.out" "$what-killed-again.out" >killed.losses
	diff calm.losses killed.losses >out
	ok "... has the same losses, to the last digit" cmp -s calm.losses killed.losses
	ok "... of 30 steps" test "$(grep -cE '^[0-9]+ [0-9]' calm.losses)" = 30
done
finish
