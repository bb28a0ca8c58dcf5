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
run timeout 300 "$kftrainer" submit --local --run-dir "file://$scratch/run" --runtime torch-distributed --nodes 2 --max-restarts 1 \
	--name kept -- sh -c 'echo "run $KFTRAINER_RESTART"; [ "$KFTRAINER_RESTART" = 1 ]'
ok "... also where --run-dir supervises the job" exits 0
ok "... in the same pods" not_printed 'pods? (failed|restart)'

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

submit checked --annotation kftrainer.io/preflight=enforce --annotation kftrainer.io/supervise=false -- echo trained
ok "a job whose nodes would be checked: all are this machine, and nothing is" exits 0
ok "... it trains" printed '\[node-1\] trained'
submit both --annotation kftrainer.io/preflight=enforce -- echo trained
ok "... supervised, too" exits 0
submit one --nodes 1 --annotation kftrainer.io/restarts=1 -- sh -c 'echo "run $KFTRAINER_RESTART"; [ "$KFTRAINER_RESTART" = 1 ]'
ok "one node" exits 0
# A rank in a deadlock, after one that failed: what is told. The command is Python without any package.
cat >"$scratch/dead.py" <<'EOF'
import json, os, ssl, sys, threading, time, urllib.request
E = "KUBEFLOW_TRAINER_SERVER_"
def report(percent):
    context = ssl.create_default_context(cafile=os.environ[E + "CA_CERT"])
    body = {"trainerStatus": {"lastUpdatedTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "progressPercentage": percent}}
    headers = {"Authorization": "Bearer " + open(os.environ[E + "TOKEN"]).read()}
    urllib.request.urlopen(urllib.request.Request(os.environ[E + "URL"], json.dumps(body).encode(), headers), context=context)
def wait_for_a_batch():
    threading.Event().wait()
def all_reduce():
    threading.Event().wait()
run, rank = int(os.environ["KFTRAINER_RESTART"]), os.environ["JOB_COMPLETION_INDEX"]
for i in range(4):
    if rank == "0":
        report(20 * i + 5 * run)
    time.sleep(1 if run else 0.5)
if run == 0:
    sys.exit(7) if rank == "1" else time.sleep(300)
if run == 1:
    wait_for_a_batch() if rank == "1" else all_reduce()
EOF
submit told --annotation kftrainer.io/restarts=2 --annotation kftrainer.io/stall-after=2s -- python3 "$scratch/dead.py"
ok "a rank in a deadlock: the job succeeds" exits 0
ok "... after a stall" printed 'stalled: no output and no progress of any rank'
ok "... with the stack of each rank" eval 'printed "the stack of rank 0 " && printed "  all_reduce .dead.py:" && printed "the stack of rank 1 " && printed "  wait_for_a_batch .dead.py:"'
ok "... and a restart" printed 'after the stall: restart 2 of at most 2'
run "$kftrainer" events --local told
ok "events say who failed" printed 'Restarted +trainjob/told +rank 1 ended first, with status 7: all ranks start again in their pods, restart 1$'
ok "... and that it stalled" printed 'Stalled +trainjob/told +no output'
run "$kftrainer" get --local -o wide told
ok "get -o wide has restarts, stalls and goodput" printed 'METRICS +RESTARTS +STALLS +GOODPUT .*' && printed ' 2 +1 +[0-9]+% '
run "$kftrainer" why --local told
ok "why has both, and where the time went" printed 'its ranks started again in their pods: 2 after failures and stalls, 0 after .* stalls: 1; [0-9]+ % of its time was productive .queued [0-9]+s, starting '
run "$kftrainer" get --local -o json told
ok "get -o json, too" eval 'python3 -c "
import json, sys
s = json.load(sys.stdin)[\"status\"][\"supervision\"]
t = s[\"seconds\"]
sys.exit([s[\"restarts\"], s[\"stalls\"]] != [2, 1] or t[\"stalled\"] < 3 or t[\"productive\"] < 1 or not t[\"repeated\"] or set(t) != set(\"queued starting productive stalled repeated restarting\".split()))
" <"$scratch/out"'

KFTRAINER_ISOLATION=none
export KFTRAINER_ISOLATION
submit plain --annotation kftrainer.io/restarts=1 -- sh "$scratch/rank.sh" 0.0
ok "without namespaces" exits 0
finish
