#!/usr/bin/env python3
"""CPU time of loading Parquet into memory on one thread, beside pyarrow's read_table in the same run.

parquet_bench.py DUMP   DUMP is build/rel/tests/cache/dump; SIZE=MB of Arrow a file, default 100.

Ours decodes, and encodes the rows as the messages that the data cache keeps: more than read_table does. Both are user and
system time, in a process for each round. The kernel's part varies with what memory it has at hand, huge pages above all.
"""
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.dont_write_bytecode = True
import venvs
from row import row

venvs.use("cache")
import pyarrow as pa
import pyarrow.parquet as pq

DUMP, SIZE, ROUNDS = sys.argv[1], int(os.environ.get("SIZE", 100)) << 20, int(os.environ.get("ROUNDS", 3))
CORE = sorted(os.sched_getaffinity(0))[:1]  # a server loads with as many threads as it has cores
r = random.Random(1)
WORDS = ["".join(r.choices("abcdefghijklmnopqrstuvwxyz", k=r.randrange(2, 12))) for _ in range(20000)]


def sentences(n):
    some = [" ".join(r.choices(WORDS, k=r.randrange(3, 25))) for _ in range(20000)]
    return [r.choice(some) + str(r.randrange(10**6)) for _ in range(n)]


def numbers(n):
    raw = pa.array(memoryview(r.randbytes(8 * n)).cast("q"), pa.int64())
    return {"id": pa.array(range(n)), "int64": raw, "double": raw.view(pa.float64()),
            "optional": pa.array([None if i % 10 == 3 else i * 7919 % 100003 for i in range(n)], pa.int64()),
            "small": pa.array([i * 31 % 97 for i in range(n)], pa.int32())}


def strings(n):
    return {"text": pa.array(sentences(n)), "label": pa.array([WORDS[i * 7919 % 300] for i in range(n)]),
            "url": pa.array([None if i % 7 == 0 else f"https://{WORDS[i % 900]}.example/{i}" for i in range(n)])}


def tokens(n):
    width = 512
    values = pa.array(memoryview(b"".join(r.randrange(50257).to_bytes(4, "little") for _ in range(n * 64)) * 8).cast("i"))
    return {"tokens": pa.ListArray.from_arrays(pa.array(range(0, n * width + 1, width), pa.int32()), values)}


def table(make, row_bytes):
    return pa.table(make(max(SIZE // row_bytes, 1000)))


def mixed():
    n = max(SIZE // 2300, 1000)
    return pa.table({**numbers(n), **strings(n), **tokens(n)})


def ours(path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([DUMP, "-l", "-m", str(4 << 30), path], check=True, preexec_fn=lambda: os.sched_setaffinity(0, CORE))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def theirs(path):
    """In a process of its own: memory that an earlier run has touched costs nothing."""
    program = f"""import time, pyarrow as pa, pyarrow.parquet as pq
pa.set_cpu_count(1)
pa.set_io_thread_count(1)
begin = time.process_time()
kept = pq.read_table({path!r}, use_threads=False)
print(time.process_time() - begin)"""
    return float(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout)


tables = {"numbers": table(numbers, 36), "strings": table(strings, 150), "tokens": table(tokens, 2052), "mixed": mixed()}
with tempfile.TemporaryDirectory() as scratch:
    for name, data in tables.items():
        for codec in "none", "zstd":
            path = os.path.join(scratch, "data.parquet")
            pq.write_table(data, path, compression=codec, store_schema=False, row_group_size=250000)
            runs = [(ours(path), theirs(path)) for _ in range(ROUNDS)]
            a, b = (statistics.median(column) for column in zip(*runs))
            mb = data.nbytes / 1e6
            row(f"Parquet, {name}, {codec}", mb / a, "MB per CPU second", f"{mb:.0f} MB of Arrow in memory, one thread; by turns, median of {ROUNDS}", "",
                f"pyarrow {pa.__version__}", mb / b)
