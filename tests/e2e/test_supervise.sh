#!/bin/bash
# Supervised jobs against real kubelets, and a tracked one: in pods with a random user, a root that cannot be written,
# and no capability.
# before: tests/setup.sh store
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_shared
strict_runtime
submit() { in_cluster "$kftrainer" submit -n $ns --runtime strict --nodes 2 "$@" >"$scratch/out" 2>&1 || { cat "$scratch/out"; return 1; }; }
uids() { pods "$1" '{.items[*].metadata.uid}'; }
tracker=http://$cluster_ip:7090
serve_mlflow

# ---- a rank that dies, a pod that is lost --------------------------------------------------------------------
# In its first run rank 1 is killed; in the second rank 0's pod is lost; the third succeeds.
cat >"$scratch/job" <<'END'
echo "rank $JOB_COMPLETION_INDEX run $KFTRAINER_RESTART"
[ "$KFTRAINER_RESTART.$JOB_COMPLETION_INDEX" = 0.1 ] && kill -9 $$
[ "$KFTRAINER_RESTART" = 2 ] || sleep 300
END
check "a supervised job" submit --name kept --supervise --annotation kftrainer.io/restarts=1 -- bash -c "$(cat "$scratch/job")"
# ---- a stall, and what a tracker has -------------------------------------------------------------------------
mkdir "$scratch/code"
cat >"$scratch/code/stalls.py" <<'END'
import json, os, ssl, threading, time, urllib.request
E = "KUBEFLOW_TRAINER_SERVER_"
def report(percent):
    status = {"progressPercentage": percent, "lastUpdatedTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
              "metrics": [{"name": "loss", "value": str(1 / percent)}]}
    headers = {"Authorization": "Bearer " + open(os.environ[E + "TOKEN"]).read()}
    context = ssl.create_default_context(cafile=os.environ[E + "CA_CERT"])
    urllib.request.urlopen(urllib.request.Request(os.environ[E + "URL"], json.dumps({"trainerStatus": status}).encode(), headers), context=context)
def next_batch():
    threading.Event().wait()
def all_reduce():
    threading.Event().wait()
run, rank = int(os.environ["KFTRAINER_RESTART"]), os.environ["JOB_COMPLETION_INDEX"]
print(f"rank {rank} run {run} of {os.environ.get('MLFLOW_RUN_ID')}", flush=True)
for i in range(1, 4):
    if rank == "0":
        report(25 * i + 5 * run)
if run == 0:
    next_batch() if rank == "1" else all_reduce()
END
check "a tracker" wait_for 120 in_cluster curl -fsS "$tracker/health"
check "a tracked job, of which a rank waits forever" submit --name stalls --track "mlflow+$tracker/digits" --annotation kftrainer.io/restarts=1 \
	--annotation kftrainer.io/stall-after=2s --workspace "$scratch/code" -- python3 stalls.py

first() { pods kept | tr ' ' '\n' | grep -- "node-0-$1-"; }
again() { k logs "$(first "$1")" -c node 2>/dev/null | grep -q "rank $1 run $2"; }
check "a rank is killed: both start again" wait_for 120 eval 'again 0 1 && again 1 1'
kept=$(uids kept)
k delete pod "$(first 0)" --grace-period=0 --force >/dev/null 2>&1
check "rank 0's pod is lost: the job ends, complete" becomes kept Complete
check "... rank 1 in the same pod" eval '[ "$(for u in $(uids kept); do grep -c "$u" <<<"$kept"; done | sort | xargs)" = "0 1" ] && again 1 2'

check "the job that stalls starts again, and completes" becomes stalls Complete
logs stalls >"$scratch/logs" 2>/dev/null
has() { grep -qE -e "$1" "$scratch/logs" || { cat "$scratch/logs"; return 1; }; }
check "... rank 0's log has the stack of the rank that waits alone" has '  next_batch \(stalls.py:'
check "... and of the other" has '  all_reduce \(stalls.py:'
check "... an event tells of it" tells stalls '^Stalled '
check "... and one of the restart" tells stalls '^Restarted '
check "... the status counts both" eval '[ "$(of stalls .status.supervision.stalls) $(of stalls .status.supervision.restarts)" = "1 1" ] || { of stalls .status; false; }'
# Read back over MLflow's own API.
id=$(sed -n 's/.*rank 0 run 0 of \([0-9a-f]\{32\}\)$/\1/p' "$scratch/logs")
tracked() { # TYPE LIKE
	in_cluster curl -fsS "$tracker/api/2.0/mlflow/$1" >"$scratch/answer"
	tr -d ' \n' <"$scratch/answer" | grep -qE -e "$2" || { cat "$scratch/answer"; return 1; }
}
check "... both runs are one of the tracker" eval '[ -n "$id" ] && has "rank 1 run 1 of $id"'
check "... which is finished" tracked "runs/get?run_id=$id" '"status":"FINISHED"'
check "... and has what was reported in both" tracked "metrics/get-history?run_id=$id&metric_key=progress" '(.*"value":(25|50|75|30|55|80)(\.0)?[,}]){6}'
k delete trainjobs --all --wait=false >/dev/null
finish
