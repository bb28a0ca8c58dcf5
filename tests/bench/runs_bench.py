#!/usr/bin/python3
"""A run directory on S3: what sending a checkpoint costs a training step, its rate, memory: part of `make bench`.

usage: runs_bench.py KFTRAINER
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
if len(sys.argv) != 2:
    sys.exit(__doc__)
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "store"))
from row import lacks, row
from servers import answers, children, free_port, scratch, start

PROGRAM, GB, TURNS = os.path.abspath(sys.argv[1]), 1 << 30, 3
versitygw = subprocess.run([HERE.parent / "store/versitygw.sh"], capture_output=True, text=True, check=False).stdout.strip()
if not versitygw:
    lacks("run directories", "versitygw is not installed")
    sys.exit()
port, hub_port = free_port(), free_port()
(scratch / "s3/buck").mkdir(parents=True)
os.environ.update(HOME=str(scratch), NO_PROXY="*", no_proxy="*", ENDPOINT=f"http://127.0.0.1:{port}", ACCESS_KEY_ID="kft",
                  SECRET_ACCESS_KEY="the-Secret")
# In earnest the server is on another machine: here it runs when nothing else does.
answers(*start(port, "chrt", "-i", "0", versitygw, "--access", "kft", "--secret", "the-Secret", "--region", "us-east-1", "--port",
               f"127.0.0.1:{port}", "--quiet", "posix", str(scratch / "s3")))
subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-out", scratch / "key"], check=True, capture_output=True)

# Steps of the same work on a processor of its own; then a checkpoint is there. Idle, as if on a GPU: when it says so.
(scratch / "train.py").write_text("""
import os, sys, time
rank, folder, turns = int(os.environ["JOB_COMPLETION_INDEX"]), sys.argv[1], int(sys.argv[2])
directory = os.environ["KFTRAINER_CHECKPOINT_DIR"]
os.sched_setaffinity(0, {rank % os.cpu_count()})
def step():
    begun, x = time.perf_counter(), 0
    for i in range(200000):
        x += i * i
    return time.perf_counter() - begun
def steps(what, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        s = step()
        if what:
            print(what, s, flush=True)
for turn in range(turns + 1):
    steps("without" if turn < turns else "", 5 if turn < turns else 0)
    os.rename(f"{folder}/{rank}.{turn}", f"{directory}/checkpoint-{turn + 1}")
    if turn < turns:
        steps("", 4)
        steps("with", 5)
    while not os.path.exists(f"{folder}/sent.{turn}"):
        time.sleep(0.2)
""")
for rank in (0, 1):
    for turn in range(TURNS + 1):
        (scratch / f"{rank}.{turn}").mkdir()
        with open(scratch / f"{rank}.{turn}" / "model.bin", "wb") as f:
            for _ in range(GB // (1 << 20) if turn == TURNS else 256):
                f.write(os.urandom(1 << 20))
JOB = '{"kind": "TrainJob", "metadata": {"name": "a", "namespace": "default", "uid": "u"}}'


def supervised(rank):
    out = scratch / f"out.{rank}"
    with open(out, "wb") as f:
        p = subprocess.Popen(
            [PROGRAM, "runtime", "supervise", "--message", "/dev/null", "--run-dir", "s3://buck/run", "--run-job", JOB, "--ranks", "2",
             "--rank", str(rank), "--hub", "127.0.0.1", "--port", str(hub_port), "--key", str(scratch / "key"), "--",
             sys.executable, str(scratch / "train.py"), str(scratch), str(TURNS)], stdout=f, stderr=f, stdin=subprocess.DEVNULL,
            env=os.environ | {"KFTRAINER_CHECKPOINT_DIR": str(scratch / f"ck{rank}"), "JOB_COMPLETION_INDEX": str(rank)},
            start_new_session=True)
    children.append(p)
    return p, out


ranks = [supervised(i) for i in (0, 1)]
folder, peak, seconds = scratch / "s3/buck/run", 0, {}
for turn in range(TURNS + 1):
    begun, there = None, folder / f"checkpoints/checkpoint-{turn + 1}.complete"
    while not there.exists():
        if ranks[0][0].poll() is not None or ranks[1][0].poll() is not None:
            sys.exit("runs_bench: " + ranks[0][1].read_text()[-2000:])
        if begun is None and not (scratch / f"0.{turn}").exists():
            begun = time.monotonic()
        for p, _ in ranks:
            peak = max(peak, int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{p.pid}/status").read_text())[1]))
        time.sleep(0.05)
    seconds[turn] = time.monotonic() - begun
    (scratch / f"sent.{turn}").touch()
for p, _ in ranks:
    p.wait()
took = {}
for what in ("with", "without"):
    took[what] = [float(x) for _, out in ranks for x in re.findall(rf"^{what} ([\d.]+)$", out.read_text(), re.M)]
slower = 100 * (statistics.mean(took["with"]) / statistics.mean(took["without"]) - 1)
row("training step while a checkpoint is sent", slower, "% slower", f"2 nodes, a core each that only trains; the mean of {len(took['with'])} steps "
    f"beside {len(took['without'])} before, {TURNS} turns; the server gets idle time", "≤ 3 %")
both = scratch / "both"
both.mkdir()
for rank in (0, 1):
    os.rename(scratch / f"ck{rank}/checkpoint-{TURNS + 1}/model.bin", both / f"{rank}.bin")
begun = time.monotonic()
subprocess.run([PROGRAM, "export-model", both, "--uri", "s3://buck/export"], check=True, capture_output=True)
theirs = time.monotonic() - begun
ours = max(0.1, seconds[TURNS] - 4)
row("a checkpoint of 2 GB to S3", 2 * GB / 1e6 / ours, "MB/s", f"2 nodes that train on a GPU: their processors are free; {seconds[TURNS]:.1f} s with the 4 s "
    "until a file is known to be finished", "≥ 0.8 of it", "export-model", 2 * GB / 1e6 / theirs)
row("supervisor that sends: memory", peak / 1e3, "MB", "the most RSS of the two, each 50 ms", "≤ 24 MB")
