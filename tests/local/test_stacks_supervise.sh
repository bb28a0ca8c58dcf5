#!/bin/bash
# PyTorch's DDP on two supervised nodes: ranks are killed at random points (KILLS=20 in make soak), and the losses are those of
# a run that nobody disturbs. One stalls.
# before: tests/setup.sh stack
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/stacks.sh"
KILLS=${KILLS:-2}

train() { # NAME STEPS
	mkdir -p "$1"
	"$kftrainer" submit --local --supervise --annotation kftrainer.io/restarts=99 --annotation kftrainer.io/restart-grace=1s \
		--name "$1" --runtime torch-distributed --nodes 2 -- python "$stacks/ddp_killed.py" "$scratch/$1" "$2" >"$1.out" 2>&1 </dev/null
}
# begun NUMBER: both ranks run for the NUMBERth time, and some steps of it are done
begun() { [ "$(grep -c "begins $1 rank" killed.out)" = 2 ] && sed "1,/begins $1 rank/d" killed.out | grep -q 'loss'; }
# The last loss of each step: those of steps that are repeated count once.
losses() { sed -nE 's/^(\[[^ ]+\] +)?loss ([0-9]+) (.*)$/\2 \3/p' "$1" | sort -snk1,1 | awk 'NR > 1 && $1 != step { print last } { step = $1; last = $0 } END { print last }'; }

# supervisors: the IDs of both
supervisors() { pgrep -f "runtime supervise .*/ddp_killed.py $scratch/killed 40$"; }

# Meanwhile one stalls: a first step of ten seconds is left alone; a rank that waits forever is not, and is named by its stack.
mkdir stalls
"$kftrainer" submit --local --supervise --annotation kftrainer.io/restarts=3 --annotation kftrainer.io/stall-after=6s --name stalls \
	--runtime torch-distributed --nodes 2 -- python "$stacks/ddp_stalls.py" "$scratch/stalls" >stalls.out 2>&1 </dev/null &
stalls=$!
train killed 40 &
pid=$!
until_true begun 0
supervisors >before
for ((i = 0; i < KILLS; i++)); do
	until_true begun "$i"
	sleep "0.$((RANDOM % 10))"
	mapfile -t ranks < <(pgrep -f "^python .*/ddp_killed.py $scratch/killed 40$")
	kill -9 "${ranks[RANDOM % 2]}"
done
until_true begun "$KILLS"
supervisors >after
touch killed/go
wait $pid
status=$?
cp killed.out out
ok "ranks are killed $KILLS times: exits 0" exits 0
ok "... each time all start again" lines 2 "begins $KILLS rank [01] at "
ok "... under the same supervisors, in the same pods" eval 'test "$(wc -l <before)" = 2 && cmp -s before after'
mkdir calm
touch calm/go
losses killed.out >killed.losses
train calm "$(wc -l <killed.losses)"
status=$?
cp calm.out out
ok "a run that nobody disturbs" exits 0
losses calm.out >calm.losses
cp killed.losses out
ok "... has the same losses, to the last digit" cmp -s calm.losses killed.losses
ok "... of 40 steps, or more" test "$(wc -l <calm.losses)" -ge 40

wait $stalls
status=$?
cp stalls.out out
ok "a rank waits forever in the middle of DDP: exits 0" exits 0
ok "... one stall, and one restart" lines 1 'after the stall: restart 1 of at most 3'
ok "... from the checkpoint, with both ranks" lines 2 'begins 1 rank [01] at 10'
sed -n '/the stack of rank 1 /,/the stack of rank 0 /p' out >odd
ok "... the stack of the odd rank says where" grep -q 'next_batch (ddp_stalls.py:' odd
ok "... that of the other, where it waits" eval 'sed -n "/the stack of rank 0 /,/after the stall/p" out | grep -q "train_step (ddp_stalls.py:"'
finish
