"""Train one XGBoost model over the workers of a TrainJob, each with its share of the rows.

The XGBoost policy sets DMLC_TRACKER_URI, DMLC_TRACKER_PORT, DMLC_TASK_ID and
DMLC_NUM_WORKER; worker 0 also runs the tracker. Exits with an error if the
workers do not end with the same model or the error does not decrease.
"""
import hashlib
import os
import socket
import sys
import threading

import numpy as np
import xgboost as xgb
from xgboost import collective
from xgboost.tracker import RabitTracker

rank = int(os.environ["DMLC_TASK_ID"])
world = int(os.environ["DMLC_NUM_WORKER"])
host, port = os.environ["DMLC_TRACKER_URI"], int(os.environ["DMLC_TRACKER_PORT"])
address = socket.gethostbyname(host)

if rank == 0:
    tracker = RabitTracker(n_workers=world, host_ip=address, port=port)
    tracker.start()
    threading.Thread(target=tracker.wait_for, daemon=True).start()

rng = np.random.default_rng(7)
features = rng.normal(size=(4000, 8))
labels = (features[:, 0] * features[:, 1] + features[:, 2] > 0).astype(int)

with collective.CommunicatorContext(
    dmlc_communicator="rabit",
    dmlc_tracker_uri=address,
    dmlc_tracker_port=port,
    dmlc_task_id=str(rank),
    dmlc_retry=10,
    dmlc_timeout=60,
):
    print(f"worker {collective.get_rank()} of {collective.get_world_size()}", flush=True)
    rows = xgb.DMatrix(features[rank::world], label=labels[rank::world])
    history = {}
    model = xgb.train(
        {"objective": "binary:logistic", "eval_metric": "error", "max_depth": 4, "nthread": 1},
        rows,
        num_boost_round=20,
        evals=[(rows, "train")],
        evals_result=history,
        verbose_eval=False,
    )
    errors = history["train"]["error"]
    digest = hashlib.sha256(model.save_raw("json")).hexdigest()[:16]
    first = collective.broadcast(digest if rank == 0 else "", 0)
    if collective.get_rank() == 0:
        print(f"error {errors[0]:.4f} -> {errors[-1]:.4f}, model {digest}", flush=True)
    if digest != first or errors[-1] >= errors[0]:
        sys.exit(f"worker {rank}: wanted the same model everywhere and a falling error")
