#!/bin/bash
# Jobs of Training Operator V1, converted and run by `submit --local`, with the frameworks themselves.
# Each program checks a sum over all ranks.
. "$(dirname "$0")/lib.sh"
python=$(tests/setup.sh venv)/bin
convert=$(tests/setup.sh venv convert)/bin
cd "$scratch" || exit 1

# As V1's users write them: without a word of PET_, DMLC_ or JAX_.
cat >ddp.py <<'PY'
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(total)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}, sum {total.item():g}", flush=True)
PY
cat >trees.py <<'PY'
import os, socket, threading
import numpy as np
from xgboost import collective
from xgboost.tracker import RabitTracker
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address, port = socket.gethostbyname(os.environ["MASTER_ADDR"]), int(os.environ["MASTER_PORT"])
assert len(os.environ["WORKER_ADDRS"].split(",")) == world - 1
if rank == 0:
    tracker = RabitTracker(n_workers=world, host_ip=address, port=port)
    tracker.start()
    threading.Thread(target=tracker.wait_for, daemon=True).start()
with collective.CommunicatorContext(dmlc_communicator="rabit", dmlc_tracker_uri=address, dmlc_tracker_port=port,
                                    dmlc_task_id=str(rank), dmlc_retry=10, dmlc_timeout=60):
    total = collective.allreduce(np.array([rank + 1.0]), collective.Op.SUM)
    print(f"rank {collective.get_rank()} of {collective.get_world_size()}, sum {total[0]:g}", flush=True)
PY
cat >line.py <<'PY'
import os, jax
from jax.experimental import multihost_utils
jax.distributed.initialize(os.environ["COORDINATOR_ADDRESS"] + ":" + os.environ["COORDINATOR_PORT"],
                           int(os.environ["NUM_PROCESSES"]), int(os.environ["PROCESS_ID"]))
total = multihost_utils.process_allgather(jax.numpy.array([jax.process_index() + 1.0])).sum()
print(f"rank {jax.process_index()} of {jax.process_count()}, sum {total:g}", flush=True)
PY
cat >mirrored.py <<'PY'
import json, os
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
total = strategy.run(lambda: tf.distribute.get_replica_context().all_reduce(
    tf.distribute.ReduceOp.SUM, tf.constant(index + 1.0)))
total = float(strategy.experimental_local_results(total)[0])
print(f"rank {index} of {strategy.num_replicas_in_sync}, sum {total:g}", flush=True)
PY
cat >servers.py <<'PY'
import json, os
import tensorflow as tf
config = json.loads(os.environ["TF_CONFIG"])
task = config["task"]
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if task["type"] != "chief":
    tf.distribute.Server(resolver.cluster_spec(), job_name=task["type"], task_index=task["index"],
                         protocol="grpc", start=True).join()
strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    count = tf.Variable(0.0)
@tf.function
def step():
    count.assign_add(1.0)
for _ in range(10):
    coordinator.schedule(step)
coordinator.join()
print(f"chief: {len(config['cluster']['worker'])} workers, {len(config['cluster']['ps'])} ps, "
      f"{count.read_value():g} steps on {count.device}", flush=True)
PY
cat >paddled.py <<'PY'
import paddle, paddle.distributed as dist
dist.init_parallel_env()
total = paddle.to_tensor([dist.get_rank() + 1.0])
dist.all_reduce(total)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}, sum {total.item():g}", flush=True)
PY

v1() { # KIND SPECS CONTAINER ROLE=N,... [LINE OF SPEC] -- COMMAND...
	local kind=$1 specs=$2 container=$3 roles=$4 line=${5:-}
	shift 6
	printf '%s\n' "apiVersion: kubeflow.org/v1" "kind: $kind" "metadata: {name: ${kind,,}}" "spec:" ${line:+"  $line"} "  $specs:"
	for role in ${roles//,/ }; do
		printf '    %s: {replicas: %s, template: {spec: {containers: [{name: %s, image: x, command: [%s]}]}}}\n' \
			"${role%=*}" "${role#*=}" "$container" "$(IFS=,; echo "$*")"
	done
}
# converted PATH: the job on standard input, converted and run.
converted() {
	cat >job.yaml
	run bash -c 'PATH=$1:$PATH; "$2" convert job.yaml | "$2" submit --local -f - --timeout 10m' - "$1" "$kftrainer"
}
# N SUM: each rank is there, and has the sum. Paddle's ranks share a file: two may write one line.
ranks() {
	[ "$(grep -Eo "rank [0-9]+ of $1, sum [0-9]+" out | grep " $2\$" | sort -u | wc -l)" = "$1" ]
}

converted /usr/bin < <(v1 PyTorchJob pytorchReplicaSpecs pytorch Master=1,Worker=2 "" -- python3 ddp.py)
ok "PyTorchJob, python: complete" exits 0
ok "PyTorchJob, python: three ranks, as in V1" ranks 3 6
converted /usr/bin < <(v1 PyTorchJob pytorchReplicaSpecs pytorch Master=1,Worker=1 'nprocPerNode: "2"' -- torchrun ddp.py)
ok "PyTorchJob, torchrun: complete" exits 0
ok "PyTorchJob, torchrun: two ranks a pod, as in V1" ranks 4 10
converted "$python" < <(v1 XGBoostJob xgbReplicaSpecs xgboost Master=1,Worker=2 "" -- python3 trees.py)
ok "XGBoostJob: complete" exits 0
ok "XGBoostJob: three ranks" ranks 3 6
converted "$python" < <(v1 JAXJob jaxReplicaSpecs jax Worker=2 "" -- python3 line.py)
ok "JAXJob: complete" exits 0
ok "JAXJob: two processes" ranks 2 3
converted "$convert" < <(v1 TFJob tfReplicaSpecs tensorflow Worker=2 'successPolicy: AllWorkers' -- python3 mirrored.py)
ok "TFJob, MultiWorkerMirrored: complete" exits 0
ok "TFJob, MultiWorkerMirrored: two workers" ranks 2 3
converted "$convert" < <(v1 TFJob tfReplicaSpecs tensorflow Chief=1,PS=1,Worker=2 "" -- python3 servers.py)
ok "TFJob, parameter server: complete when the chief is" exits 0
ok "TFJob, parameter server: it counted every step" printed 'chief: 2 workers, 1 ps, 10 steps on /job:ps'
converted "$convert" < <(v1 PaddleJob paddleReplicaSpecs paddle Worker=2 "" -- python3 -m paddle.distributed.launch paddled.py)
ok "PaddleJob, collective: complete" exits 0
ok "PaddleJob, collective: two nodes" ranks 2 3
finish
