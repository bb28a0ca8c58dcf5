#!/usr/bin/env python3
"""`kftrainer gpu-feed`: the cache's rows bit by bit in the stand-in's devices, whoever dies meanwhile."""
import collections
import concurrent.futures
import contextlib
import ctypes
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / d) for d in ("tests/gpu", "tests", "tests/cache", "examples")]
import venvs

venvs.use("cache")
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import flight

import columns
import gpu_feed
import samples
from fleet import Fleet
from standin import CUDA, LIBRARIES, PATIENCE, PROGRAMS, SCRATCH, dev, environ, has, is_, libraries
from tap import check, finish, skip

ctypes.CDLL(os.path.join(LIBRARIES, CUDA))  # what gpu_feed's CDLL finds by its name
os.environ["STANDIN"] = "devices=4"
numbers = iter(range(1000))
ROWS = 4_000_000


class Running:
    """A `kftrainer gpu-feed` on a socket of its own."""

    def __init__(self, uri, *args, standin="", program=PROGRAMS[0], wait=True, path=None, **env):
        n = next(numbers)
        self.path = path or os.path.join(SCRATCH, f"feed{n}")
        self.ledger = os.path.join(SCRATCH, f"ledger{n}")
        self.process = subprocess.Popen(
            [program, "gpu-feed", "--socket", self.path, *map(str, args), uri], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environ(f"devices=4 ledger={self.ledger} {standin}", **env), text=True, stdin=subprocess.DEVNULL)
        while wait and not self.listens():
            if self.process.poll() is not None:
                raise RuntimeError(self.process.stderr.read())

    def listens(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            return s.connect_ex(self.path) == 0

    def end(self):
        """Exit status, output, errors; of the errors only what is not about a consumer."""
        out, err = self.process.communicate(timeout=PATIENCE)
        about = re.compile("kftrainer gpu-feed: (rank [0-9]+: )?process [0-9]+")
        return self.process.returncode, out, "\n".join(line for line in err.splitlines() if not about.match(line))

    def sums(self):
        sums = collections.Counter()
        for line in open(self.ledger, encoding="ascii") if os.path.exists(self.ledger) else ():
            sums[line.split()[0]] += int(line.split()[1])
        return sums

    def copied(self):
        """Bytes from pinned memory to a device, and from there to other ranks' devices."""
        sums = self.sums()
        return sums["from-host"], sums["to-peer"]

    def left(self):
        """What was made and not freed, of the memory and events of CUDA."""
        return {k: v for k, v in self.sums().items() if v and k not in ("from-host", "to-peer")}


# ---- from device memory to pyarrow ----

def buffer(array):
    return None if array is None else pa.py_buffer(ctypes.string_at(array.address, array.nbytes))


def arrow(column, kind):
    validity, offsets = buffer(column.validity), buffer(column.offsets)
    if pa.types.is_null(kind):
        return pa.nulls(column.rows)
    if pa.types.is_map(kind):
        entries = pa.struct([pa.field("key", kind.key_type, False), kind.item_field])
        inner = [arrow(column.children[0], entries)] if column.children[0].type == "struct" else \
            [pa.StructArray.from_arrays([arrow(c, f.type) for c, f in zip(column.children, entries)], fields=list(entries))]
        return pa.Array.from_buffers(kind, column.rows, [validity, offsets], column.nulls, 0, inner)
    if pa.types.is_list(kind):
        return pa.Array.from_buffers(kind, column.rows, [validity, offsets], column.nulls, 0, [arrow(column.children[0], kind.value_type)])
    if pa.types.is_struct(kind):
        return pa.Array.from_buffers(kind, column.rows, [validity], column.nulls, 0,
                                     [arrow(c, f.type) for c, f in zip(column.children, kind)])
    values = buffer(column.values)
    if column.offsets is not None or pa.types.is_string(kind) or kind == pa.binary():
        return pa.Array.from_buffers(kind, column.rows, [validity, offsets, values], column.nulls)
    return pa.Array.from_buffers(kind, column.rows, [validity, values], column.nulls)


def as_table(batches, schema):
    return pa.Table.from_batches(batches, schema)


def take(batch, schema):
    return pa.RecordBatch.from_arrays([arrow(c, f.type) for c, f in zip(batch.columns, schema)], schema=schema)


class Rank(threading.Thread):
    """A consumer that reads all: `batches`, or what went wrong."""

    def __init__(self, path, rank, schema, device=gpu_feed.CPU):
        super().__init__(daemon=True)
        self.args, self.schema, self.batches, self.error = (path, rank, device), schema, [], None
        self.start()

    def run(self):
        try:
            with gpu_feed.Feed(*self.args) as feed:
                for batch in feed:
                    self.batches.append(take(batch, self.schema))
                    del batch
        except Exception as e:
            self.error = str(e) or repr(e)

    def table(self):
        self.join(PATIENCE)
        if self.error or self.is_alive():
            raise RuntimeError(self.error or "it never ended")
        return as_table(self.batches, self.schema)


def equal(what, running, ranks, want):
    """All ranks have these rows, the feed ends well, and frees all."""
    try:
        problems = "\n".join(filter(None, (columns.differences(r.table(), want) for r in ranks)))
    except RuntimeError as e:
        problems = f"{e}"
    check(what, problems or None)
    code, out, err = running.end()
    is_("... exit status, errors, what is left", (code, err, running.left()), (0, "", {}))
    return out


every = samples.write(pathlib.Path(SCRATCH) / "every.parquet", samples.table(19, {**samples.FLAT, **samples.NESTED}, 700, .3),
                      row_group_size=90)
WANT = pq.read_table(every).replace_schema_metadata(None)


def bits():
    once = 0
    with Fleet(every) as fleet:
        for program in PROGRAMS:
            print("#", program)
            for ring, gpus in ((2, "0"), (3, "0,1"), (4, "2,2,1"), (64, "0,1,2,3"))[:None if program == PROGRAMS[0] else 2]:
                f = Running(fleet.head.uri, "--ring", ring, "--gpus", gpus, "--buffer-size", 1 << 18, program=program)
                n = len(gpus.split(","))
                out = equal(f"every type, {n} ranks, a ring of {ring}", f, [Rank(f.path, i, WANT.schema) for i in range(n)], WANT)
                has("... says how many", out, f"700 rows in ", f" to {n} ranks")
                copied = f.copied()
                once = once or copied[0]
                is_("... from the host once, from there to the other devices", copied, (once, once * (n - 1)))
        f = Running(fleet.head.uri, "--rank", 1, "--world", 3)
        equal("a node's shard", f, [Rank(f.path, 0, WANT.schema)], fleet.read(1, 3).replace_schema_metadata(None))
        some = WANT.select(["int8", "points"])
        f = Running(fleet.head.uri, "--column", "points", "--column", "int8")
        equal("some columns", f, [Rank(f.path, 0, some.schema)], some)


def tensors():
    """What frameworks make of it: a program of the machine's Python, which has numpy and torch."""
    table = pa.table({"pixels": pa.array([[i * 8 + k for k in range(8)] for i in range(300)], pa.list_(pa.int32())),
                      "label": pa.array(range(300), pa.int64()), "text": [f"row {i}" for i in range(300)],
                      "x": pa.array([None if i % 3 else i / 2 for i in range(300)], pa.float32())})
    path = os.path.join(SCRATCH, "tensors.parquet")
    pq.write_table(table, path, row_group_size=70)
    script = f"""
import sys
sys.path.insert(0, {str(ROOT / 'examples')!r})
import numpy
from gpu_feed import CPU, Feed
kinds = [numpy.from_dlpack]
try:
    import torch
    kinds.append(lambda a: torch.from_dlpack(a).numpy())
except ImportError:
    pass
pixels, labels, kept = 0, 0, []
with Feed(sys.argv[1], 0, CPU) as feed:
    for batch in feed:
        for make in kinds:
            p = make(batch["pixels"].values)
            assert p.shape == (batch.rows, 8) and p.dtype == numpy.int32 and (p[:, 0] == 8 * make(batch["label"].values)).all()
            assert make(batch["pixels"].values).__array_interface__["data"][0] == batch["pixels"].values.address
            text, at = make(batch["text"].values).tobytes(), make(batch["text"].offsets)
            assert [text[a:b].decode() for a, b in zip(at, at[1:])] == [f"row {{i}}" for i in make(batch["label"].values)]
            valid = numpy.unpackbits(make(batch["x"].validity), bitorder="little")[:batch.rows]
            assert (valid == (make(batch["label"].values) % 3 == 0)).all()
        pixels, labels = pixels + int(p.sum()), labels + int(make(batch["label"].values).sum())
        p = make(batch["label"].values)
        del batch  # the tensor keeps its memory
        assert p[-1] - p[0] == len(p) - 1
        del p
print(len(kinds), pixels, labels)
"""
    if subprocess.run(["/usr/bin/python3", "-c", "import numpy"], capture_output=True).returncode:
        skip("tensors of numpy and torch", "the machine's Python has no numpy")
        return
    with Fleet(path, 1) as fleet:
        f = Running(fleet.head.uri, "--ring", 2)
        r = subprocess.run(["/usr/bin/python3", "-c", script, f.path], env=environ("devices=4"), capture_output=True, text=True,
                           timeout=PATIENCE)
        is_("numpy and torch have the same values, without a copy", (r.stdout.split()[1:], r.stderr), (["2878800", "44850"], ""))
        print("# frameworks:", r.stdout.split()[:1])
        is_("... and the feed ends", (*f.end()[::2], f.left()), (0, "", {}))


def large():
    """Rows of 32 MB, in batches of some 2 MiB."""
    path = os.path.join(SCRATCH, "large.parquet")
    pq.write_table(pa.table({"i": pa.array(range(ROWS), pa.int64())}), path, compression="none", row_group_size=1 << 19)
    return path


def read(feed, n):
    batches = iter(feed)
    return batches, [next(batches) for _ in range(n)]


def rss(process):
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) * 1024


def consumers(path):
    want = ROWS * (ROWS - 1) // 2
    with Fleet(path, 1) as fleet:
        for program in PROGRAMS:
            # A slow one: the ring is full, and all wait for it.
            f = Running(fleet.head.uri, "--ring", 3, "--gpus", "0,1", "--buffer-size", 4 << 20, program=program)
            with gpu_feed.Feed(f.path, 0, gpu_feed.CPU) as quick, gpu_feed.Feed(f.path, 1, gpu_feed.CPU) as slow:
                more, held = read(slow, 3)
                others, got = read(quick, 3)
                del got
                check("a slow consumer: the other rank waits for it", [1 for _ in select.select([quick.socket], [], [], 0)[0]] or None)
                if program == PROGRAMS[0]:
                    check("... and no memory grows", None if rss(f.process) < 48 << 20 else rss(f.process))
                before = sum(map(total, held))
                del held
                with concurrent.futures.ThreadPoolExecutor() as pool:
                    rest = [r.result(PATIENCE) for r in [pool.submit(total_of, others), pool.submit(total_of, more)]]
            is_("... what it held stayed as it was, and both have the rest", [before + r for r in rest], [want, want])
            is_("... and it ends", (*f.end()[::2], f.left()), (0, "", {}))
            # One that dies with all buffers of its rank.
            f = Running(fleet.head.uri, "--ring", 2, "--gpus", "0,1", "--buffer-size", 4 << 20, program=program)
            child = subprocess.Popen([sys.executable, "-c", DIES, str(ROOT / "examples"), f.path], stdout=subprocess.PIPE,
                                     env=environ("devices=4"), text=True)
            child.stdout.readline()
            whole = Rank(f.path, 0, pa.schema([("i", pa.int64())]))
            child.kill()
            child.wait()
            rest = second(f.path)
            check("a consumer dies: the other rank has all rows",
                  None if pc.sum(whole.table()["i"]).as_py() == want else whole.error)
            check("... the next one goes on where it was", None if rest.batches and rest.batches[0].column(0)[0].as_py() > 0 else rest.error)
            code, _, err = f.end()
            is_("... and the feed ends well", (code, err, f.left()), (0, "", {}))
            child.stdout.close()


def total(batch):
    return pc.sum(arrow(batch["i"], pa.int64())).as_py()


def total_of(batches):
    found = 0
    for batch in batches:
        found += total(batch)
        del batch
    return found


def second(path):
    """The rank is free as soon as the feed has seen that its consumer is gone."""
    while True:
        rank = Rank(path, 1, pa.schema([("i", pa.int64())]))
        rank.join(PATIENCE)
        if rank.error != "the rank already has a consumer":
            return rank


DIES = """
import sys
sys.path.insert(0, sys.argv[1])
from gpu_feed import CPU, Feed
feed = Feed(sys.argv[2], 1, CPU)
batches = iter(feed)
held = [next(batches), next(batches)]
print("holds", flush=True)
sys.stdin.read() or __import__("signal").pause()
"""


def cache_goes(path):
    for program in PROGRAMS:
        with Fleet(path, 1) as fleet:
            f = Running(fleet.head.uri, "--ring", 2, "--buffer-size", 4 << 20, program=program)
            feed = gpu_feed.Feed(f.path, 0, gpu_feed.CPU)
            batches, held = read(feed, 2)
            fleet.workers[0].stop(signal.SIGKILL)
            del held
            try:
                total_of(batches)
                why = "it ended as if there were no more"
            except gpu_feed.FeedError as e:
                why = str(e)
            has("the cache is killed: a consumer hears it", why, f"127.0.0.1:{fleet.workers[0].port}")
            code, out, err = f.end()
            is_("... one line, not 0, nothing left", (code, out, err.count("\n"), f.left()), (1, "", 0, {}))
            has("... with the worker", err, f"127.0.0.1:{fleet.workers[0].port}")
            feed.close()
    with Fleet(path, 1) as fleet:
        f = Running(fleet.head.uri, "--ring", 2, "--buffer-size", 4 << 20, "--source-timeout", "2s")
        with contextlib.suppress(gpu_feed.FeedError, OSError):  # on a busy machine it may end before it is read from
            feed = gpu_feed.Feed(f.path, 0, gpu_feed.CPU)
            batches, held = read(feed, 2)
            fleet.workers[0].process.send_signal(signal.SIGSTOP)
            del held
            total_of(batches)
        code, _, err = f.end()
        fleet.workers[0].process.send_signal(signal.SIGCONT)
        is_("the cache hangs: an error", (code, f.left()), (1, {}))
        has("... with its deadline", err, "no batch within 2s")
    f = Running("grpc://127.0.0.1:1", wait=False)
    code, _, err = f.end()
    is_("nobody is there: an error", (code, err.count("\n")), (1, 0))
    has("... with the address", err, "127.0.0.1:1")


def request(op, value, version=gpu_feed.VERSION):
    return struct.pack("<IIQ", version, op, value)


def hostile():
    random.seed(19)
    schema = WANT.schema
    with Fleet(every) as fleet:
        for program in PROGRAMS:
            f = Running(fleet.head.uri, "--ring", 2, "--gpus", "0,1", program=program)
            first_rank = Rank(f.path, 0, schema)
            for what, messages, says in (
                    ("no request at all", [b"x"], "an unexpected size"), ("a long one", [bytes(100_000)], "an unexpected size"),
                    ("another version", [request(1, 0, 7)], "unsupported version"), ("an unknown one", [request(9, 0)], "unknown request"),
                    ("a rank that is not there", [request(1, 2)], "no such rank"), ("... by far", [request(1, 2**64 - 1)], "no such rank"),
                    ("to join twice", [request(1, 1), request(1, 1)], "joined twice"),
                    ("to give back what nobody gave it", [request(2, 0)], "does not hold"),
                    ("... once joined", [request(1, 1), request(2, 77)], "does not hold")):
                check("refused: " + what, talk(f.path, messages, says))
            check("a consumer that sends on reads why it is refused", sends_on(f))
            for _ in range(100):
                talk(f.path, [random.choice([random.randbytes(16), request(random.randrange(4), random.getrandbits(64))])], "")
            idle = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(100)]
            for s in idle:
                s.connect(f.path)
            for s in idle:
                s.close()
            strangers(f.path)
            mode = os.stat(f.path).st_mode & 0o777
            equal("... and the feed goes on", f, [first_rank, second_of(f.path, schema)], WANT)
            is_("the socket's mode", mode, 0o600)


def second_of(path, schema):
    while True:
        rank = Rank(path, 1, schema)
        rank.join(.5 if rank.error is None else PATIENCE)
        if rank.error != "the rank already has a consumer":
            return rank


def strangers(path):
    if os.getuid() != 0:
        skip("another user's process", "only root may")
        return
    script = ["setpriv", "--reuid=65532", "--regid=65532", "--clear-groups", "/usr/bin/python3", "-c",
              "import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1]); print(s.recv(999))",
              path]
    os.chmod(SCRATCH, 0o755)
    r = subprocess.run(script, capture_output=True, text=True, timeout=PATIENCE)
    has("another user cannot open the socket", r.stderr, "PermissionError")
    os.chmod(path, 0o666)
    r = subprocess.run(script, capture_output=True, text=True, timeout=PATIENCE)
    has("... and is refused where it can", r.stdout, "another user")
    os.chmod(path, 0o600)


def talk(path, messages, says):
    """What is wrong with the answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.connect(path)
        answers = []
        try:
            for message in messages:
                s.send(message)
            while not says or says not in "".join(answers):
                answer = s.recv(gpu_feed.MESSAGE_MAX)
                answers.append(answer.decode())
                if not answer or not says:
                    break
        except (BrokenPipeError, ConnectionResetError):
            pass
    return None if says in "".join(answers) else (says, answers)


def sends_on(running):
    """The feed finds three requests at once, the first of them wrong."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        running.process.send_signal(signal.SIGSTOP)
        s.connect(running.path)
        for _ in range(3):
            s.send(b"x")
        running.process.send_signal(signal.SIGCONT)
        try:
            answer = s.recv(gpu_feed.MESSAGE_MAX).decode()
        except ConnectionResetError as e:
            answer = str(e)
    return None if "an unexpected size" in answer else answer


def failures():
    """Of the helper, its libraries, what is asked."""
    with Fleet(every) as fleet:
        uri = fleet.head.uri
        for word, like in (("abort", "signal 6"), ("crash", "signal 11"), ("exit", "status 3")):
            f = Running(uri, standin=f"{word}=cuMemcpyHtoDAsync_v2")
            rank = Rank(f.path, 0, WANT.schema)
            code, _, err = f.end()
            rank.join(PATIENCE)
            is_(f"{word} in a copy", (code, err.count("\n"), bool(rank.error)), (1, 0, True))
            has("... library, call and end", err, CUDA + ": cuMemcpyHtoDAsync_v2: ", like)
        f = Running(uri, "--timeout", "3s", standin="hang=cuEventSynchronize")
        rank = Rank(f.path, 0, WANT.schema)
        has("a hang in a copy", f.end()[2], CUDA + ": cuEventSynchronize: no answer within 3s")
        for what, standin, args, like in (
                ("memory that cannot be pinned", "fail=cuMemHostRegister_v2:2", (), "cuMemHostRegister_v2: out of memory (2)"),
                ("a device without memory", "used=0:60", (), "cuMemAlloc_v2: out of memory (2)"),
                ("... of the second rank", "used=1:60", ("--gpus", "0,1", "--ring", "2"), "cuMemAlloc_v2: out of memory (2)"),
                ("memory that cannot be shared", "fail=cuIpcGetMemHandle:801", (), "cuIpcGetMemHandle: ")):
            f = Running(uri, *args, standin=standin, wait=False)
            code, _, err = f.end()
            is_(what + ": an error", (code, err.count("\n"), f.left()), (1, 0, {}))
            has("... of the call", err, CUDA + ": " + like)
        for what, args, options, code, like in (
                ("a device that is not there", ("--gpus", "9"), {}, 2, "no such device"),
                ("no libcuda", (), {"lib": libraries(CUDA)}, 1, "cannot load " + CUDA),
                ("no GPU", (), {"dev": dev(0)}, 1, "no NVIDIA GPU"),
                ("a batch larger than a buffer", ("--buffer-size", "4096"), {}, 2, "--buffer-size"),
                ("nobody joins", ("--join-timeout", "500ms"), {}, 1, "rank 0: no consumer within 500ms"),
                ("no number of a GPU", ("--gpus", "x"), {}, 2, "--gpus"), ("too large a one", ("--gpus", "64"), {}, 2, "--gpus"),
                ("a rank beyond the world", ("--rank", "1"), {}, 2, "out of range")):
            f = Running(uri, *args, wait=False, **options)
            got, _, err = f.end()
            is_(what + ": an error", (got, err.count("\n") < 2, os.path.exists(f.path)), (code, True, False))
            has("... that says so", err, like)
        f = Running(uri)
        other = Running(uri, path=f.path, wait=False)
        has("another feed listens: an error", other.end()[2], "another process listens")
        f.process.kill()
        f.end()
        f = Running(uri, path=f.path)
        equal("a socket that a killed feed has left is replaced", f, [Rank(f.path, 0, WANT.schema)], WANT)
        f = Running(uri)
        f.process.send_signal(signal.SIGTERM)
        code, _, _ = f.end()
        is_("TERM: it ends, and frees all", (code != 0, f.left(), os.path.exists(f.path)), (True, {}, False))


class Other(flight.FlightServerBase):
    """A server of Arrow Flight that is not ours."""

    def get_flight_info(self, context, descriptor):
        return flight.FlightInfo(self.table.schema, descriptor, [flight.FlightEndpoint(b"t", [])], -1, -1)

    def do_get(self, context, ticket):
        return flight.RecordBatchStream(self.table)


def others():
    server = Other("grpc://127.0.0.1:0")
    for what, table in (("its rows", WANT.select([n for n in WANT.column_names if n != "null"])), ("no rows", WANT.slice(0, 0))):
        server.table = table
        f = Running(f"grpc://127.0.0.1:{server.port}", "--gpus", "0,1")
        equal(f"another server: {what}", f, [Rank(f.path, i, table.schema) for i in range(2)], table)
    server.shutdown()


bits()
tensors()
LARGE = large()
consumers(LARGE)
cache_goes(LARGE)
hostile()
failures()
others()
shutil.rmtree(SCRATCH, ignore_errors=True)
finish()
