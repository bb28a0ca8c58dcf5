#!/bin/bash
# JAX, XGBoost and TensorFlow, from PyPI in venvs of the tests' own, under `submit --local`.
. "$(dirname "$0")/lib.sh"
venv=$(tests/setup.sh venv)
export PATH=$venv/bin:$PATH

run "$kftrainer" submit --local examples/jax-line.yaml
ok "JAX, 2 processes: exits 0" exits 0
ok "JAX: both processes are up" printed 'process 1 of 2, 2 devices in all'
ok "JAX: they agree" printed 'processes agree: yes'

# gRPC would connect by the proxy, which does not answer, and wait.
export http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 no_proxy=example.com
run timeout 120 "$kftrainer" submit --local examples/jax-line.yaml
ok "JAX, where the caller has a proxy: exits 0" exits 0
ok "JAX, where the caller has a proxy: they agree" printed 'processes agree: yes'
cat >"$scratch/initialize.py" <<'PY'
import jax
jax.distributed.initialize()
print("process", jax.process_index(), "of", jax.process_count(), flush=True)
PY
run "$kftrainer" submit --local --runtime jax-distributed --nodes 2 -- python3 "$scratch/initialize.py"
ok "JAX: initialize() without arguments" eval 'exits 0 && printed "process 0 of 2" && printed "process 1 of 2"'
unset http_proxy https_proxy no_proxy

run "$kftrainer" submit --local examples/xgboost-trees.yaml
ok "XGBoost, 2 workers: exits 0" exits 0
ok "XGBoost: both workers are up" printed 'worker 1 of 2'
ok "XGBoost: one model, its error falls" printed 'error 0\.[0-9]+ -> 0\.[0-9]+, model'

# Gradients and losses are averaged over the workers: the line is that of one process with all points.
cat >"$scratch/mirrored.py" <<'PY'
import json, os
import numpy as np
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
index = json.loads(os.environ.get("TF_CONFIG", '{"task": {"index": 0}}'))["task"]["index"]
x = np.linspace(-1, 1, 64, dtype="float32")[index::strategy.num_replicas_in_sync]
y = 3 * x - 2 + x ** 2
with strategy.scope():
    line = tf.Variable([0.0, 0.0])

def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((line[0] * x + line[1] - y) ** 2)
    told = tf.distribute.get_replica_context().all_reduce(
        tf.distribute.ReduceOp.MEAN, [tape.gradient(loss, line), loss])
    line.assign_sub(0.4 * told[0], read_value=False)
    return told[1]

train = tf.function(lambda: strategy.run(step))
for _ in range(20):
    loss = strategy.experimental_local_results(train())[0]
weight, bias = line.numpy()
print(f"worker {index} of {strategy.num_replicas_in_sync}, y = {weight:.4f} x + {bias:.4f}, loss {loss:.5f}", flush=True)
PY
tensorflow=$(tests/setup.sh venv convert)
export PATH=$tensorflow/bin:$PATH TF_CPP_MIN_LOG_LEVEL=2
alone=$(python3 "$scratch/mirrored.py" 2>/dev/null | sed -n 's/^worker 0 of 1, //p')
run "$kftrainer" submit --local --runtime tensorflow-distributed --nodes 2 -- python3 "$scratch/mirrored.py"
ok "TensorFlow, 2 nodes by --runtime: exits 0" exits 0
said() { grep -Fq -e "$1" "$scratch/out"; }
for worker in 0 1; do
	ok "TensorFlow: worker $worker of two has the line of one process" said "worker $worker of 2, ${alone:?}"
done
finish
