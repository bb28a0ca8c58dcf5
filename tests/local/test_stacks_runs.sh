#!/bin/bash
# Checkpoints of FSDP2 on two nodes are kept in a run directory: ranks, pods, nodes and whole jobs are killed at random points, and
# what is left goes on; the losses are those of a run that nobody disturbs. (STACKS='hf fsdp2 lightning' KILLS=10 in make soak)
# before: tests/setup.sh stack
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/stacks.sh"
KILLS=${KILLS:-0} STEPS=$((30 + 20 * ${KILLS:-0}))

# train NAME WHAT OPTION...
train() {
	local name=$1 what=$2
	mkdir -p "$name"
	"$kftrainer" submit --local --run-dir "file://$scratch/runs-${name%-again}" --annotation kftrainer.io/restarts=99 \
		--annotation kftrainer.io/restart-grace=1s --name "$name" --runtime torch-distributed --nodes 2 "${@:3}" -- \
		python "$stacks/runs.py" "$what" "$scratch/$name" "$STEPS" >>"$name.out" 2>&1 </dev/null
}
# Jobs of one run directory, until one succeeds.
trains() {
	local more=()
	for ((life = 0; life < 3 * KILLS + 3; life++)); do
		train "$@" "${more[@]}" && return
		more=(--annotation kftrainer.io/resume=true)
	done
	return 1
}
# begun NAME LINES: after that many lines, both ranks begin and train
begun() { sed "1,$2d" "$1.out" | awk '/begins [0-9]+ rank/ { n++ } n >= 2 && /loss/ { ok = 1 } END { exit !ok }'; }
saved() { compgen -G "$1/checkpoints/*20*.complete" >saved; }
losses() { sed -nE 's/^(\[[^ ]+\] +)?loss ([0-9]+) (.*)$/\2 \3/p' "$@" | awk -v n="$STEPS" '{ last[$1] = $2 } END { for (i = 1; i <= n; i++) print i, last[i] }'; }
kills() { # WHAT NAME: one of them; its kind in $kind
	local ranks victim pod kinds=(rank rank pod node job)
	mapfile -t ranks < <(pgrep -f "^python .*/runs.py $1 $scratch/$2 ")
	[ ${#ranks[@]} = 2 ] || return
	victim=${ranks[RANDOM % 2]} kind=${kinds[RANDOM % 5]}
	pod=$(ps -o ppid= -p "$victim" | tr -d ' ')
	case $kind in
	rank) kill -9 "$victim" ;;
	pod) # TERM, and KILL after the grace: Lightning does not end by TERM, as it broadcasts in the handler.
		kill "$pod"
		for ((wait = 0; wait < 100; wait++)); do kill -0 "$pod" 2>/dev/null || return 0; sleep 0.1; done
		kill -9 "$pod" "$victim" ;;
	node) kill -9 "$pod" "$victim" ;;
	job) kill "-$((RANDOM % 2 ? 9 : 15))" "$(pgrep -of "^$kftrainer submit --local --run-dir file://$scratch/runs-$2 ")" ;;
	esac
}

for what in ${STACKS:-fsdp2}; do
	name=$what-killed done=0
	touch "$name.out"
	lines=0
	if [ "$KILLS" -gt 0 ]; then trains "$name" "$what" & else train "$name" "$what" & fi
	pid=$!
	for ((i = 0; i < KILLS; i++)); do
		until_true begun "$name" "$lines" || break
		sleep "$((RANDOM % 6)).$((RANDOM % 10))"
		lines=$(wc -l <"$name.out")
		kills "$what" "$name" && done=$((done + 1)) && echo "# $what: kill $i: $kind, after loss $(grep -oE 'loss [0-9]+' "$name.out" | tail -1)"
	done
	cp "$name.out" out
	if [ "$KILLS" -gt 0 ]; then
		ok "$what: is killed $KILLS times" test "$done" = "$KILLS"
		ok "... and goes on each time" until_true begun "$name" "$lines"
		touch "$name/go"
		wait $pid
		status=$?
		cp "$name.out" out
		ok "... it succeeds" exits 0
		ok "... no step but those of whole checkpoints is begun from" not_printed 'begins [0-9]+ rank [0-9] at [0-9]*[1-46-9]$'
		ok "... and none is damaged" not_printed 'is damaged'
	else
		until_true begun "$name" 0
		sleep "$((RANDOM % 5)).$((RANDOM % 10))"
		mapfile -t ranks < <(pgrep -f "^python .*/runs.py $what $scratch/$name ")
		[ ${#ranks[@]} = 2 ] && kill -9 "${ranks[RANDOM % 2]}"
		until_true eval "[ \$(grep -c 'begins 1 rank' $name.out) = 2 ]"
		# The whole job ends; another continues it on nodes without anything.
		until_true saved "runs-$name"
		kill $pid
		wait $pid
		cp "$name.out" out
		ok "$what: a rank is killed" lines 2 "begins 1 rank [01] at "
		mkdir "$name-again"
		touch "$name-again/go"
		train "$name-again" "$what" --annotation kftrainer.io/resume=true
		status=$?
		cp "$name-again.out" out
		ok "... a job continues the directory of another: exits 0" exits 0
		ok "... from a checkpoint, both ranks" lines 2 'begins 0 rank [01] at (20|25|30)'
	fi
	mkdir "$what-calm"
	touch "$what-calm/go"
	train "$what-calm" "$what"
	status=$?
	cp "$what-calm.out" out
	ok "... a run that nobody disturbs" exits 0
	losses "$what-calm.out" >calm.losses
	touch "$name-again.out"
	losses "$name.out" "$name-again.out" >killed.losses
	diff calm.losses killed.losses >out
	ok "... has the same losses, to the last digit" cmp -s calm.losses killed.losses
	ok "... of $STEPS steps" test "$(grep -cE '^[0-9]+ [0-9]' calm.losses)" = "$STEPS"
done
finish
