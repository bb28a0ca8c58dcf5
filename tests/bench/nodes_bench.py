#!/usr/bin/python3
"""`rerun` beside a new job, and a restart in place beside JobSet's, in pods on two nodes: part of `make bench` (nodes.sh).

usage: nodes_bench.py KFTRAINER NAMESPACE
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
if len(sys.argv) != 3:
    sys.exit(__doc__)
from deaths import TORCH, after_death
from row import row

PROGRAM, NS = sys.argv[1:]
FILES, TURNS, TORCH_TURNS = 300, 7, 3
FOLDER = tempfile.TemporaryDirectory()
CODE = pathlib.Path(FOLDER.name, "code")
CODE.mkdir()


def first_line(argv, like):
    """Milliseconds to the first line of output that is like this; then until the end."""
    begun, out = time.perf_counter(), ""
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as p:
        for line in p.stdout:
            out += line
            if re.search(like, line):
                ms = (time.perf_counter() - begun) * 1e3
                p.stdout.read()
                return ms
    sys.exit(f"nodes_bench: no line like {like}\n{out}")


def submit(name, *options):
    return [PROGRAM, "submit", "-n", NS, "--name", name, "--runtime", "stack", "--nodes", "2", "--workspace", str(CODE), *options]


def edit(i):
    (CODE / "run.sh").write_text(f"echo edit {i} of $JOB_COMPLETION_INDEX\n")


def reruns():
    for i in range(FILES - 1):
        (CODE / f"file{i}.py").write_text(f"value = {i}\n" * 200)
    edit(0)
    subprocess.run(submit("dev", "--dev", "--", "sh", "run.sh"), check=True, stdout=subprocess.DEVNULL)
    rerun = [PROGRAM, "rerun", "-n", NS, "dev"]
    while subprocess.run(rerun, capture_output=True).returncode:
        time.sleep(1)
    ours, theirs = [], []
    for i in range(1, TURNS + 1):
        edit(i)
        ours.append(first_line(rerun, f"^edit {i} "))
        theirs.append(first_line(submit(f"new{i}", "--follow", "--", "sh", "run.sh"), f"edit {i} of 0"))
    subprocess.run([PROGRAM, "delete", "-n", NS, "dev"], capture_output=True, check=False)
    row("a rerun's first line, in a cluster", statistics.median(ours) / 1e3, "s",
        f"one of {FILES} files edited, pods on two nodes; by turns, median of {TURNS}", "≤ 2 s", "a new job", statistics.median(theirs) / 1e3)


def death(name, *options):
    done = subprocess.run(submit(name, "--follow", *options, "--", "torchrun", "ddp.py"), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    return after_death(done.stdout + done.stderr) / 1e3


def restarts():
    (CODE / "ddp.py").write_text(TORCH)
    ours, theirs = [], []
    for i in range(TORCH_TURNS):
        ours.append(death(f"ours{i}", "--supervise"))
        theirs.append(death(f"theirs{i}"))
    row("death of a rank to the next step of PyTorch, in a cluster", statistics.median(ours), "s",
        f"DDP by torchrun in pods on two nodes; by turns, median of {TORCH_TURNS}", "", "Recreate of all pods", statistics.median(theirs))


reruns()
restarts()
