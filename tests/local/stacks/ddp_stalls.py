"""DDP that stalls: ddp_stalls.py FOLDER. In its first run rank 1 waits for a batch that never comes, at step 12, and rank 0 in the
all-reduce. Progress is reported as transformers' KubeflowCallback does; the first step takes seconds. Until then there is output:
to load PyTorch takes a busy machine minutes."""
import json
import os
import ssl
import sys
import threading
import time
import urllib.request

loaded = threading.Event()


def show_loading():
    while not loaded.wait(1):
        print("loads PyTorch", flush=True)


threading.Thread(target=show_loading, daemon=True).start()
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

ENV = "KUBEFLOW_TRAINER_SERVER_"
STEPS = 20


def report(step):
    if rank:
        return
    context = ssl.create_default_context(cafile=os.environ[ENV + "CA_CERT"])
    with open(os.environ[ENV + "TOKEN"], encoding="utf-8") as f:
        headers = {"Authorization": f"Bearer {f.read().strip()}", "Content-Type": "application/json"}
    body = {"lastUpdatedTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "progressPercentage": 100 * step // STEPS,
            "metrics": [{"name": "current_step", "value": str(step)}]}
    request = urllib.request.Request(os.environ[ENV + "URL"], json.dumps({"trainerStatus": body}).encode(), headers, method="POST")
    with urllib.request.urlopen(request, timeout=30, context=context) as answer:
        assert answer.status == 200


def next_batch():
    if rank == 1 and step == 12 and run == 0:
        threading.Event().wait()
    return torch.randn(16, 8)


def train_step():
    x = next_batch()
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


rank, world, run = int(os.environ["PET_NODE_RANK"]), int(os.environ["PET_NNODES"]), int(os.environ["KFTRAINER_RESTART"])
os.environ.update(MASTER_ADDR=os.environ["PET_MASTER_ADDR"], MASTER_PORT=os.environ["PET_MASTER_PORT"])
torch.set_num_threads(1)
dist.init_process_group("gloo", rank=rank, world_size=world)
model = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
saved, step = os.path.join(sys.argv[1], "saved"), 0
if os.path.exists(saved):
    with open(saved, encoding="utf-8") as f:
        step = int(f.read())
loaded.set()
print(f"begins {run} rank {rank} at {step}", flush=True)
report(step)
if run == 0:
    time.sleep(10)  # as a compiler would
while step < STEPS:
    train_step()
    step += 1
    report(step)
    if rank == 0 and step % 5 == 0:
        with open(saved, "w", encoding="utf-8") as f:
            f.write(str(step))
    time.sleep(0.2)
dist.destroy_process_group()
os._exit(0)  # the end of the interpreter is silent
