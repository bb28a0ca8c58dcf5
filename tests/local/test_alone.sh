#!/bin/bash
# Jobs that complete although their nodes did not train together: a line, an event and `why` say so.
. "$(dirname "$0")/lib.sh"

two() { # NAME COMMAND...: on two nodes
	local name=$1
	shift
	run "$kftrainer" submit --local --runtime torch-distributed --nodes 2 --name "$name" -- "$@"
}

# warned NAME REGEX: while it ran, at its end, in events and by why; the job is complete all the same.
warned() {
	exits 0 && printed "^warning: $2" && printed "^warning: it completed, but $2" &&
		"$kftrainer" why --local "$1" | tee -a "$scratch/out" | grep -Eq "completed.*Also: $2" &&
		"$kftrainer" events --local "$1" | tee -a "$scratch/out" |
		grep -Eq "Warning +TrainsAlone +trainjob/$1 +$2"
}

quiet() {
	exits 0 && not_printed warning && ! "$kftrainer" events --local "$1" | grep TrainsAlone
}

two one sh -c 'echo "rank 0 of 1"; echo "rank 0 of 1"'
ok "each node logs a world of one process" warned one "node-[01] and node-[01] each log"
run "$kftrainer" logs -f one
ok "logs -f says so, too" printed "warning: node-[01] and node-[01] each log"
# shellcheck disable=SC2016 # the pod's shell
run "$kftrainer" submit --local --detach --runtime torch-distributed --nodes 2 --name unread -- \
	sh -c 'echo "rank 0 of 1"; while [ ! -e "$0" ]; do sleep 0.1; done' "$scratch/go"
ok "nobody reads the output" exits 0
why_says() { "$kftrainer" why --local unread | tee "$scratch/out" | grep -Eq "$1"; }
until_true() { until "$@"; do sleep 0.1; done; }
ok "... why does: while it runs" until_true why_says 'running: node-[01] .* each log a world of one process'
touch "$scratch/go"
"$kftrainer" wait --local unread
ok "... and once it has completed" why_says 'completed.*Also: node-[01] .* each log'
# shellcheck disable=SC2016 # the pod's shell expands it
two both sh -c 'echo "rank $PET_NODE_RANK of 2"; echo "world_size=2"; echo "rank 0 of 1"'
ok "a process of a larger world" quiet both
two none sh -c 'echo "model parallel world size: 1"'
ok "a world within another" quiet none

cat >"$scratch/report.py" <<'P'
import json, os, ssl, sys, time, urllib.request
here = ssl.create_default_context(cafile=os.environ["KUBEFLOW_TRAINER_SERVER_CA_CERT"])
with open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]) as file:
    token = file.read()
at = sys.argv[1]
mine = int(os.environ["PET_NODE_RANK"])
for i in range(4):  # node 0, node 1, node 0, ... in turns, by files
    while not os.path.exists(f"{at}/{2 * i + mine}"):
        time.sleep(0.01)
    if mine == 0 or sys.argv[2] == "all":
        body = {"trainerStatus": {"progressPercentage": 10 * i, "lastUpdatedTime": "2026-01-01T00:00:00Z"}}
        urllib.request.urlopen(urllib.request.Request(
            os.environ["KUBEFLOW_TRAINER_SERVER_URL"], json.dumps(body).encode(),
            {"Authorization": "Bearer " + token, "Content-Type": "application/json"}), context=here).read()
    open(f"{at}/{2 * i + mine + 1}", "w").close()
P
turns() { # all|first: who reports, in turns
	mkdir "$scratch/$1" && touch "$scratch/$1/0"
	two "$1" python3 "$scratch/report.py" "$scratch/$1" "$1"
}
turns all
ok "two pods report progress" warned all "pods all-node-0-0 and all-node-0-1 both report"
turns first
ok "only the first rank reports progress" quiet first
finish
