#!/usr/bin/env bash
# submit --local --supervise: ranks that fail start again in their pods, with all others.
# shellcheck source=tests/local/lib.sh
. "$(dirname "$0")/lib.sh"

submit() {
	run timeout 300 "$kftrainer" submit --local --supervise --runtime torch-distributed --nodes 2 --name "$@"
}

cat >"$scratch/rank.sh" <<'EOF'
echo "rank $JOB_COMPLETION_INDEX run $KFTRAINER_RESTART on $HOSTNAME"
[ "$JOB_COMPLETION_INDEX.$KFTRAINER_RESTART" = "$1" ] && kill -9 $$
[ "$KFTRAINER_RESTART" = 0 ] && exec sleep 300
exit 0
EOF
submit again --annotation kftrainer.io/restarts=1 -- sh "$scratch/rank.sh" 1.0
ok "a rank that is killed starts again, with the other" exits 0
ok "... rank 0" printed 'rank 0 run 1 on again-node-0-0'
ok "... rank 1" printed 'rank 1 run 1 on again-node-0-1'
ok "... in the same pods" not_printed 'pods? (failed|restart)'
ok "... which is said once" test "$(grep -c 'rank 1 ended with status 137; restart 1 of at most 1' "$scratch/out")" = 1

submit finally --annotation kftrainer.io/restarts=1 -- sh -c 'echo "run $KFTRAINER_RESTART"; exit 5'
ok "a job that fails again and again has its exit code" exits 5
ok "... after its restarts" test "$(grep -c '] run [01]' "$scratch/out")" = 4
ok "... and no pod is replaced" not_printed 'run 2'

submit limit --max-restarts 1 -- sh -c 'echo "run $KFTRAINER_RESTART"; [ "$KFTRAINER_RESTART" = 1 ]'
ok "--max-restarts is the default of the restarts in place" exits 0

# A pod that is lost: its supervisor, and what it runs. Its Job makes another.
cat >"$scratch/lost.sh" <<'EOF'
echo "rank $JOB_COMPLETION_INDEX run $KFTRAINER_RESTART"
[ "$KFTRAINER_RESTART" = 1 ] && exit 0
[ "$JOB_COMPLETION_INDEX" = "$1" ] && kill -9 $PPID $$
exec sleep 300
EOF
for rank in 0 1; do
	submit "lost$rank" -- sh "$scratch/lost.sh" $rank
	ok "the pod of rank $rank is lost: the job succeeds" exits 0
	ok "... rank 0 ran again" printed 'rank 0 run 1'
	ok "... rank 1 ran again" printed 'rank 1 run 1'
done

submit one --nodes 1 --annotation kftrainer.io/restarts=1 -- sh -c 'echo "run $KFTRAINER_RESTART"; [ "$KFTRAINER_RESTART" = 1 ]'
ok "one node" exits 0
KFTRAINER_ISOLATION=none
export KFTRAINER_ISOLATION
submit plain --annotation kftrainer.io/restarts=1 -- sh "$scratch/rank.sh" 0.0
ok "without namespaces" exits 0
finish
