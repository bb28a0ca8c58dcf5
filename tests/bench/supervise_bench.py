#!/usr/bin/python3
"""`rerun` beside a new job, and a restart in place beside JobSet's, on this machine: part of `make bench`.

usage: supervise_bench.py KFTRAINER
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
if len(sys.argv) != 2:
    sys.exit(__doc__)
from row import lacks, row

PROGRAM = os.path.abspath(sys.argv[1])
FILES, TURNS = 300, 11
FOLDER = tempfile.TemporaryDirectory()
CODE = pathlib.Path(FOLDER.name, "code")
os.environ.update(XDG_STATE_HOME=f"{FOLDER.name}/state", HOME=FOLDER.name)
os.environ.pop("KFTRAINER_ISOLATION", None)


def first_line(argv, like):
    """Milliseconds to the first line of output that is like this; then until the end."""
    begun = time.perf_counter()
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as p:
        for line in p.stdout:
            if re.search(like, line):
                ms = (time.perf_counter() - begun) * 1e3
                p.stdout.read()
                return ms
    sys.exit(f"supervise_bench: no such line: {like}")


def submit(*options):
    return [PROGRAM, "submit", "--local", "--runtime", "torch-distributed", "--nodes", "2", *options]


def edit(i):
    (CODE / "run.sh").write_text(f"echo edit {i} of $JOB_COMPLETION_INDEX\n")


def reruns():
    CODE.mkdir()
    for i in range(FILES - 1):
        (CODE / f"file{i}.py").write_text(f"value = {i}\n" * 200)
    edit(0)
    subprocess.run(submit("--dev", "--detach", "-q", "--name", "dev", "--workspace", str(CODE), "--", "sh", "run.sh"), check=True)
    first_line([PROGRAM, "rerun", "--local", "dev"], b"edit 0")
    ours, theirs = [], []
    for i in range(1, TURNS + 1):
        edit(i)
        ours.append(first_line([PROGRAM, "rerun", "--local", "dev"], f"^edit {i} ".encode()))
        theirs.append(first_line(submit("--name", f"new{i}", "--workspace", str(CODE), "--", "sh", "run.sh"), f"edit {i} of 0".encode()))
    subprocess.run([PROGRAM, "delete", "--local", "dev"], capture_output=True, check=False)
    row("a rerun's first line", statistics.median(ours), "ms",
        f"one of {FILES} files edited, two nodes, `--local`; by turns, median of {TURNS}", "≤ 500 ms", "a new job",
        statistics.median(theirs))


# Rank 1 kills itself in the first run, at a time that both runs print.
FAILS = """
import os, signal, time
first = os.environ.get("KFTRAINER_RESTART", "0") == "0" and os.environ.get("JOBSET_RESTART_ATTEMPT", "0") == "0"
first = first and not os.path.exists(os.environ["MARK"])
print("step at", time.time(), flush=True)
if not first:
    raise SystemExit
if os.environ["JOB_COMPLETION_INDEX"] == "1":
    time.sleep(0.5)
    open(os.environ["MARK"], "w").close()
    print("died at", time.time(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(100)
"""


def after_death(name, *options):
    """Milliseconds from the death of rank 1 to the next step of rank 0."""
    mark = f"{FOLDER.name}/mark-{name}"
    done = subprocess.run(submit("--name", name, "--max-restarts", "1", "--env", f"MARK={mark}", *options, "--", "python3", "-c", FAILS),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    died = [float(t) for t in re.findall(r"died at ([0-9.]+)", done.stdout + done.stderr)]
    steps = [float(t) for t in re.findall(r"node-0\] step at ([0-9.]+)", done.stdout + done.stderr)]
    if not died or not [s for s in steps if s > died[0]]:
        sys.exit(f"supervise_bench: {name} did not start again\n{done.stdout}{done.stderr}")
    return (min(s for s in steps if s > died[0]) - died[0]) * 1e3


TORCHRUN = """
import os, signal, time
first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
print("step at", time.time(), flush=True)
if not first:
    raise SystemExit
if os.environ["RANK"] == "1":
    time.sleep(0.5)
    print("died at", time.time(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(100)
"""


def torchrun(name):
    """The same of two workers of one torchrun; None: there is none."""
    (CODE / "torchrun.py").write_text(TORCHRUN)
    done = subprocess.run([PROGRAM, "submit", "--local", "--runtime", "torch-distributed", "--nodes", "1", "--nproc-per-node", "2", "--name",
                           name, "--", "torchrun", "--max_restarts", "1", str(CODE / "torchrun.py")], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    died = re.search(r"died at ([0-9.]+)", done.stdout + done.stderr)
    steps = [float(t) for t in re.findall(r"step at ([0-9.]+)", done.stdout + done.stderr)]
    after = [s for s in steps if died and s > float(died[1])]
    return (min(after) - float(died[1])) * 1e3 if after else None


def restarts():
    ours, theirs, third = [], [], []
    for i in range(TURNS):
        ours.append(after_death(f"ours{i}", "--supervise"))
        theirs.append(after_death(f"theirs{i}"))
        if i < 3:
            third.append(torchrun(f"third{i}"))
    row("death of a rank to the next step", statistics.median(ours), "ms",
        f"two nodes, Python without torch, `--local --supervise`; by turns, median of {TURNS}", "≤ 1 s", "Recreate of all pods",
        statistics.median(theirs))
    if None in third:
        lacks("the same beside torchrun", "torchrun did not start its workers again")
        return
    row("the same beside torchrun", statistics.median(ours), "ms", "its two workers on one node; by turns, median of 3 of torchrun's", "",
        "torchrun --max_restarts", statistics.median(third))


def resident():
    with subprocess.Popen([PROGRAM, "runtime", "supervise", "--", "sleep", "5"]) as p:
        time.sleep(2)
        text = pathlib.Path(f"/proc/{p.pid}/smaps_rollup").read_text()
        p.terminate()
    kb = int(re.search(r"^Rss: *(\d+)", text, re.M)[1])
    row("a supervisor, idle", kb / 1024, "MB", "RSS, two seconds after the command's start", "≤ 2 MB")


reruns()
restarts()
resident()
