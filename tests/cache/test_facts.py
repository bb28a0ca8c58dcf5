#!/usr/bin/env python3
"""What upstream's cache gets wrong and no other test here names: shards, streams that end, workers that are late or killed."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache")
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import flight
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

import lake
from fleet import PROGRAM, SANITIZED, Fleet, Server
from tap import check, finish

scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-facts-"))


def write(name, table, **options):
    pq.write_table(table, scratch / name, **options)
    return scratch / name


def numbers(first, end):
    return pa.table({"i": pa.array(range(first, end), pa.int64())})


def fails(call, kind, *texts):
    try:
        got = call()
    except kind as e:
        return None if all(t in str(e) for t in texts) else f"{type(e).__name__}: {e}"
    return f"it did not fail: {got}"


# ---- shards ----
nine = write("nine.parquet", numbers(0, 9), row_group_size=2)
with Fleet(nine) as fleet:
    for world, sizes in ((4, [3, 2, 2, 2]), (8, [2] + [1] * 7)):
        got = [fleet.info(r, world).total_records for r in range(world)]
        check(f"9 rows over {world} ranks: no rank is left out", None if got == sizes else got)
    empty = fleet.info(9, 10)
    check("a rank without rows: one endpoint, whose stream is the schema", None if len(empty.endpoints) == 1 and empty.total_records == 0
          and fleet.read(9, 10).schema == fleet.read(0, 1).schema and fleet.read(9, 10).num_rows == 0 else empty.endpoints)
    with flight.FlightClient(fleet.head.uri) as head, flight.FlightClient(fleet.workers[0].uri) as worker:
        for name, client in (("head", head), ("worker", worker)):
            check(f"ListActions of a {name} is not implemented", fails(client.list_actions, pa.ArrowNotImplementedError, "not implemented"))
            check(f"an action that a {name} does not have", fails(lambda c=client: list(c.do_action("shutdown")), pa.ArrowNotImplementedError, "'shutdown' does not exist"))
    health = [fleet.action(s, "health")[0] for s in (fleet.head, *fleet.workers)]
    check("the action health", None if [(h["role"], h["state"], h["rows"]) for h in health] == [("head", "ready", 9)] + [("worker", "ready", 9)] * 2 else health)

# All worlds, with a client for each server: the same rows by each.
N = 3333
cut = write("cut.parquet", numbers(0, N), row_group_size=100)
with Fleet(cut, 4) as fleet:
    clients = {uri: flight.FlightClient(uri) for uri in (fleet.head.uri, *(w.uri for w in fleet.workers))}

    def shard(rank, world):
        info = clients[fleet.head.uri].get_flight_info(flight.FlightDescriptor.for_path(str(rank), str(world)))
        return [x for e in info.endpoints for x in clients[e.locations[0].uri.decode()].do_get(e.ticket).read_all()["i"].to_pylist()]

    wrong = [world for world in range(1, 65) if [x for r in range(world) for x in shard(r, world)] != list(range(N))]
    check("every row once, in one order, for each world from 1 to 64", wrong or None)
    for client in clients.values():
        client.close()

# ---- 8 million rows ----
many = scratch / "many"
many.mkdir()
M = 8_000_000
for i in range(8):
    pq.write_table(numbers(i * M // 8, (i + 1) * M // 8), many / f"{i}.parquet", compression="none", use_dictionary=False, row_group_size=1 << 18)
with Fleet(many, 3) as fleet:
    shards = [None] * 8

    def one(rank):
        shards[rank] = fleet.read(rank, 8)

    for turn in range(2):
        threads = [threading.Thread(target=one, args=(r,)) for r in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        check(f"8 ranks at once read 8 million rows in order, {'again' if turn else 'once'}",
              None if pa.concat_tables(shards)["i"].combine_chunks().equals(pa.array(range(M), pa.int64())) else [s.num_rows for s in shards])
    # What the whole is sent in, shards are: but for their ends.
    whole = [len(c) for c in fleet.read(0, 1)["i"].chunks]
    third = [len(c) for c in fleet.read(1, 3)["i"].chunks]
    check("only the batches at a shard's ends are cut", None if any(whole[i:i + len(third) - 2] == third[1:-1] for i in range(len(whole))) and len(third) > 4
          else (whole, third))

# ---- columns ----
catalog = lake.catalog(scratch / "lake")
table = catalog.create_table("db.indexed", Schema(NestedField(1, "cache_index", LongType()), NestedField(2, "s", StringType())))
table.append(pa.table({"cache_index": pa.array([5, 7], pa.int64()), "s": ["a", "b"]}))
with Fleet(table.metadata_location, 1) as fleet:
    got = fleet.read(0, 1)
    check("a column that is named cache_index", None if got.to_pydict() == {"cache_index": [5, 7], "s": ["a", "b"]} else got)

# ---- who is late, and who is asked too early ----
late = Server("worker", cut)
late.process.send_signal(signal.SIGSTOP)
head = Server("head", cut, "--worker", f"127.0.0.1:{late.port}")
early = [head.ready() for _ in range(50)]
check("probes before it is ready: 503, and nothing in the log", None if early == [(503, "not ready")] * 50 and len(head.lines) <= 2 else head.lines)
head.wait_for(r"worker is not ready.*")
late.process.send_signal(signal.SIGCONT)
head.wait_for(r"INFO ready rows=")
check("a worker that the head waited for in vain has its rows once it answers", None if head.ready() == (200, "ready") == late.ready() else late.lines)
head.stop()
late.stop()

# ---- streams that end ----
wide = write("wide.parquet", pa.table({"i": pa.array(range(20000), pa.int64()), "tokens": pa.array([[i % 100] * 1000 for i in range(20000)], pa.list_(pa.int32()))}),
             compression="none", use_dictionary=False, row_group_size=1000)
with Fleet(wide, 2) as fleet:
    with flight.FlightClient(fleet.head.uri) as client:
        second = client.get_flight_info(flight.FlightDescriptor.for_path("0", "1")).endpoints[1]
    running = flight.FlightClient(second.locations[0]).do_get(second.ticket)
    running.read_chunk()
    fleet.workers[1].stop(signal.SIGKILL)
    check("a worker that is killed while it is read: an error, not fewer rows", fails(running.read_all, flight.FlightUnavailableError))
    before = len(fleet.head.lines)
    fleet.restart_worker(1)
    fleet.head.wait_for(r"worker is ready", before)
    check("all rows in the same order once it is back", None if fleet.read(0, 1)["i"].to_pylist() == list(range(20000)) else "wrong")

with Fleet(wide, 1) as fleet:
    worker, ticket = fleet.workers[0], fleet.info(0, 1).endpoints[0].ticket
    going, stalled = flight.FlightClient(worker.uri), flight.FlightClient(worker.uri)
    reads, waits = going.do_get(ticket), stalled.do_get(ticket)
    waits.read_chunk()
    rows = 0
    while rows < 16000:  # what is left is more than buffers on the way hold
        rows += reads.read_chunk().data.num_rows
    worker.process.send_signal(signal.SIGTERM)
    worker.wait_for("stopping")
    check("TERM: a stream that is read goes on to its end", None if rows + reads.read_all().num_rows == 20000 else rows)
    refused = False
    while not refused:
        try:
            socket.create_connection(("127.0.0.1", worker.port)).close()
        except ConnectionRefusedError:
            refused = True
    check("TERM: who connects is refused, while another stream waits for its reader", None if worker.process.poll() is None else "it has ended")
    code = worker.process.wait()
    check("TERM: exit 0", None if code == 0 else code)
    check("TERM: a stream that is not read ends with UNAVAILABLE", fails(waits.read_all, flight.FlightUnavailableError))

# ---- memory ----
def anonymous(pid):
    try:
        return int(re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) << 10
    except (OSError, TypeError):
        return 0


LIMIT = 48 << 20
with Fleet(wide, 1, wait=False, args=("--memory", LIMIT, "--spill", scratch)) as fleet:
    worker, most = fleet.workers[0], 0
    while not fleet.head.ready()[0] == 200:
        most = max(most, anonymous(worker.process.pid))
    stats = fleet.action(worker, "stats")[0]
    check("80 MB with --memory 48 MiB and --spill: never more than the limit", None if LIMIT / 4 < most and (most < LIMIT or SANITIZED) and stats["spilled"] > 80e6 - LIMIT else (most, stats))

# ---- whom a head asks ----
def asked(**env):
    env = {k: v for k, v in os.environ.items() if not k.startswith("LWS_")} | env
    head = Server("head", nine, **env)
    with flight.FlightClient(head.uri) as client:
        stats = json.loads(next(client.do_action("stats")).body.to_pybytes())
    head.stop()
    return [w["address"] for w in stats["workers"]]


for what, env, want in (("RUNTIME_ENV", {"RUNTIME_ENV": "local"}, ["localhost:50052", "localhost:50053"]),
                        ("LeaderWorkerSet's variables", {"LWS_LEADER_ADDRESS": "set-0.set.invalid", "LWS_GROUP_SIZE": "3"},
                         ["set-0-1.set.invalid:50051", "set-0-2.set.invalid:50051"])):
    got = asked(**env)
    check(f"the workers by {what}", None if got == want else got)

# ---- a head that is ended while its table's place does not answer ----
silent = socket.create_server(("127.0.0.1", 0))
head = subprocess.Popen([PROGRAM, "cache-serve", "head", "127.0.0.1", "0", "--worker", "127.0.0.1:1"], stderr=subprocess.PIPE,
                        env={**os.environ, "METADATA_LOC": f"http://127.0.0.1:{silent.getsockname()[1]}/t.parquet", "HEALTH_PORT": "0"})
connection = silent.accept()
head.terminate()
said = head.communicate()[1]
check("TERM while the table is opened: exit 0", None if head.returncode == 0 else said)
shutil.rmtree(scratch)
finish()
