#!/usr/bin/env python3
"""Commands of the program for 64-bit Arm, under qemu: a job of this machine, a download, the data cache, MPI."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / d) for d in ("tests", "tests/cache", "tests/store")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache")
import pyarrow.parquet as pq

import hub
import mpi_ends
import samples
from fleet import PROGRAM, Fleet
from mpi_ends import is_
from tap import check, finish

scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-arm64-"))
ENV = {**os.environ, "XDG_STATE_HOME": str(scratch / "state"), "HOME": str(scratch)}


def run(*args, **env):
    done = subprocess.run([PROGRAM, *map(str, args)], capture_output=True, env={**ENV, **env}, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def jobs():
    code, out, err = run("submit", "--local", "--runtime", "torch-distributed", "--nodes", 2, "--name", "two", "--",
                         "sh", "-c", "echo rank $PET_NODE_RANK")
    lines = sorted(line.split("] ", 1)[1] for line in out.splitlines() if "] " in line)
    check("submit --local: two nodes", None if (code, lines) == (0, ["rank 0", "rank 1"]) else (code, out, err))
    code, out, err = run("submit", "--local", "--runtime", "torch-distributed", "--name", "seven", "--", "sh", "-c", "exit 7")
    check("... the job's exit code", None if code == 7 else (code, out, err))
    code, out, err = run("get", "--local")
    check("get: both", None if code == 0 and "two" in out and "seven" in out else (code, out, err))
    code, out, err = run("logs", "--local", "two")
    check("logs", None if code == 0 and "rank 1" in out else (code, out, err))


def download():
    data = random.Random(1).randbytes(300_000)
    repo = scratch / "hub/datasets/org/data"
    (repo / "data").mkdir(parents=True)
    (repo / "hub.json").write_text("{}")
    (repo / "data/a.parquet").write_bytes(data)
    (repo / "README.md").write_text("hi\n")
    with hub.Running(scratch / "hub", log=scratch / "log") as server:
        code, out, err = run("initialize-dataset", "--to", scratch / "to", STORAGE_URI="hf://org/data", HF_ENDPOINT=server.url, no_proxy="127.0.0.1")
    check("initialize-dataset: from the hub", None if code == 0 else (code, out, err))
    is_("... the same bytes, in two files", [p.name for p in scratch.glob("to/**/*.*") if ".kftrainer" not in p.parts and p.read_bytes() in (data, b"hi\n")].__len__(), 2)


def cache():
    kinds = {**samples.FLAT, **samples.NESTED}
    path = samples.write(scratch / "every.parquet", samples.table(5, kinds, 700, .3), row_group_size=200)
    with Fleet(path, 1) as fleet:
        served = fleet.read(0, 1)
    native = subprocess.run([ROOT / "build/rel/kftrainer", "cache-serve", "cat", path], capture_output=True)
    code, out, err = run("cache-serve", "cat", path)
    is_("cache-serve: all rows", served.num_rows, pq.read_metadata(path).num_rows)
    check("cache-serve cat: the same text as on x86-64", None if (code, out) == (0, native.stdout.decode()) and out else (code, out[:200], err))


def mpi():
    worker = mpi_ends.Worker(mpi_ends.new_key("key"))
    r = worker.run("echo out; echo err >&2; exit 3")
    is_("mpi-launch on mpi-worker: output, errors, status", (r.stdout, r.stderr, r.returncode), (b"out\n", b"err\n", 3))
    is_("... and it ends", worker.stop(), 0)


jobs()
download()
cache()
mpi()
finish()
