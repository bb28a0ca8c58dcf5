#!/usr/bin/python3
"""A run directory on S3: what sending a checkpoint costs a training step, its rate, memory: part of `make bench`.

usage: runs_bench.py KFTRAINER
"""
import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
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
port, hub_port, access = free_port(), free_port(), scratch / "access"
(scratch / "s3/buck").mkdir(parents=True)
os.environ.update(HOME=str(scratch), NO_PROXY="*", no_proxy="*", ENDPOINT=f"http://127.0.0.1:{port}", ACCESS_KEY_ID="kft",
                  SECRET_ACCESS_KEY="the-Secret")
# In earnest the server is on another machine: here it has the last core while steps are measured on the first.
FIRST, LAST = {0}, {os.cpu_count() - 1}
server = start(port, versitygw, "--access", "kft", "--secret", "the-Secret", "--region", "us-east-1", "--port",
               f"127.0.0.1:{port}", "--quiet", "--access-log", str(access), "posix", str(scratch / "s3"))
answers(*server)
subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-out", scratch / "key"], check=True, capture_output=True)

# Steps of the same work, a core for each node and its supervisor, from when a checkpoint is there until it is sent. Idle in the last turn, as if on a GPU.
(scratch / "train.py").write_text("""
import os, sys, time
rank, folder, turns = int(os.environ["JOB_COMPLETION_INDEX"]), sys.argv[1], int(sys.argv[2])
directory = os.environ["KFTRAINER_CHECKPOINT_DIR"]
for turn in range(turns + 1):
    os.rename(f"{folder}/{rank}.{turn}", f"{directory}/checkpoint-{turn + 1}")
    while not os.path.exists(f"{folder}/sent.{turn}"):
        begun, x = time.monotonic(), 0
        if turn == turns:
            time.sleep(0.05)
            continue
        for i in range(200000):
            x += i * i
        print("step", begun, time.monotonic(), flush=True)
""")
for rank in (0, 1):
    for turn in range(TURNS + 1):
        (scratch / f"{rank}.{turn}").mkdir()
        with open(scratch / f"{rank}.{turn}" / "model.bin", "wb") as f:
            for _ in range(GB // (1 << 20) if turn == TURNS else 160):
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
            preexec_fn=lambda: os.sched_setaffinity(0, LAST if rank else FIRST), start_new_session=True)
    children.append(p)
    return p, out


def pin(process, cores):
    """The process and its threads, and what they start from then on."""
    for thread in os.listdir(f"/proc/{process.pid}/task"):
        os.sched_setaffinity(int(thread), cores)


def resident(p):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{p.pid}/status").read_text())[1])


pin(server[1], LAST)
ranks = [supervised(i) for i in (0, 1)]
# Spans of half a second in which both supervisors run, or both are stopped, in turn: what else this machine does is the same in both.
folder, peak, seconds, spans = scratch / "s3/buck/run", 0, 0, {"running": [], "stopped": []}
for turn in range(TURNS + 1):
    if turn == TURNS:
        for p in (server[1], ranks[0][0], ranks[1][0]):
            pin(p, range(os.cpu_count()))
    begun, there, what = None, folder / f"checkpoints/checkpoint-{turn + 1}.complete", "running"
    while not there.exists():
        if ranks[0][0].poll() is not None or ranks[1][0].poll() is not None:
            sys.exit("runs_bench: " + ranks[0][1].read_text()[-2000:])
        if begun is None and not (scratch / f"0.{turn}").exists():
            begun = since = time.monotonic()
        peak = max([peak, *(resident(p) for p, _ in ranks)])
        time.sleep(0.05)
        now = time.monotonic()
        if turn < TURNS and begun and now > begun + 4 and now > since + 0.5:
            if now - begun > 5:
                spans[what].append((since, now))
            what = "stopped" if what == "running" else "running"
            for p, _ in ranks:
                p.send_signal(signal.SIGSTOP if what == "stopped" else signal.SIGCONT)
            since = time.monotonic()
    seconds = time.monotonic() - begun
    for p, _ in ranks:
        p.send_signal(signal.SIGCONT)
    (scratch / f"sent.{turn}").touch()
for p, _ in ranks:
    p.wait()
steps = [(float(a), float(b)) for a, b in re.findall(r"^step ([\d.]+) ([\d.]+)$", ranks[0][1].read_text(), re.M)]


def each(what):
    """Seconds for a step in these spans; a step in part counts in part."""
    done = sum(max(0, min(b, until) - max(a, since)) / (b - a) for since, until in spans[what] for a, b in steps)
    return sum(until - since for since, until in spans[what]) / max(done, 1)


if min(len(v) for v in spans.values()) < 20:
    lacks("training step while a checkpoint is sent", f"it was sent before there was enough to compare: {[len(v) for v in spans.values()]} spans")
else:
    row("training step while a checkpoint is sent", 100 * (each("running") / each("stopped") - 1), "% slower", "node 0 of 2, a core that only trains, in "
        f"{len(spans['running'])} spans of 0.5 s beside {len(spans['stopped'])} in which the supervisors are stopped, by turns", "≤ 3 %")
both = scratch / "both"
both.mkdir()
for rank in (0, 1):
    os.rename(scratch / f"ck{rank}/checkpoint-{TURNS + 1}/model.bin", both / f"{rank}.bin")
begun = time.monotonic()
subprocess.run([PROGRAM, "export-model", both, "--uri", "s3://buck/export"], check=True, capture_output=True)
theirs = time.monotonic() - begun
row("a checkpoint of 2 GB to S3", 2 * GB / 1e6 / seconds, "MB/s", f"2 nodes that train on a GPU: their processors are free; {seconds:.1f} s from the rename "
    "to its .complete", "≥ 0.8 of it", "export-model", 2 * GB / 1e6 / theirs)
row("supervisor that sends: memory", peak / 1e3, "MB", "the most RSS of the two, each 50 ms", "≤ 24 MB")

# ---- what a node fetches that has all but a part; requests ----------------------------------------------------------------


def asked():
    """Lines of the server's log since the last call: (operation, key, bytes sent)."""
    lines = [line.partition("] ")[2].split() for line in access.read_text().splitlines()]
    access.write_text("")
    return [(x[3], x[4], int(x[8]) if x[8].isdigit() else 0) for x in lines if len(x) > 8]


class Counts(threading.Thread):
    """A relay to the server: the bytes that come from there."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket, self.received = socket.create_server(("127.0.0.1", 0)), 0
        self.port = self.socket.getsockname()[1]
        self.start()

    def run(self):
        while True:
            client = self.socket.accept()[0]
            server = socket.create_connection(("127.0.0.1", port))
            threading.Thread(target=self.pump, args=(client, server, 0), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, 1), daemon=True).start()

    def pump(self, source, to, counts):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 18):
                self.received += counts * len(data)
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)


def alone(uri, directory, *command, option=("supervise", "--message", "/dev/null"), env=()):
    subprocess.run([PROGRAM, "runtime", *option, "--run-dir", uri, "--run-job", JOB, "--", *command], check=True, capture_output=True,
                   env=os.environ | {"KFTRAINER_CHECKPOINT_DIR": str(directory), "KFTRAINER_RESTART": "0"} | dict(env))


parts = scratch / "parts"
(parts / ".new").mkdir(parents=True)
for i in range(16):
    (parts / ".new" / f"{i}.bin").write_bytes(os.urandom(16 << 20))
alone("s3://buck/parts", parts, "sh", "-c", f"mv {parts}/.new {parts}/checkpoint-1")
(parts / "checkpoint-1/3.bin").unlink()
damaged = parts / "checkpoint-1/7.bin"
damaged.write_bytes(os.urandom(damaged.stat().st_size))
asked()
relay = Counts()
alone("s3://buck/parts", parts, "true", option=("resume", "--rank", "0", "--ranks", "1", "--attempt", "2"), env={"ENDPOINT": f"http://127.0.0.1:{relay.port}"})
received = relay.received
row("resume: what is fetched more than is missing", 100 * (received / (2 * (16 << 20)) - 1), "%",
    "2 of 16 files of 16 MB: one is missing, one differs; all bytes that the server sends", "≤ 1 %")
asked()
alone("s3://buck/lines", scratch / "none", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do seq 1000; sleep 1; done")
row("requests for a run of 10,000 lines", len(asked()), "", "to S3, in 10 s, no checkpoint", "≤ 20")
