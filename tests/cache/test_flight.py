#!/usr/bin/env python3
"""cache-serve head and worker, read by pyarrow's Flight client as upstream's clients read."""
import json
import pathlib
import shutil
import signal
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

import columns
import samples
from fleet import SANITIZED, Fleet, Server
from tap import check, finish

scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-flight-"))


def fails(call, kind, *texts):
    """Nothing if the call raises that, with these in its text."""
    try:
        call()
    except kind as e:
        missing = [t for t in texts if t not in str(e)]
        return f"{missing} not in: {e}" if missing else None
    return "it did not fail"


def differ(got, want):
    if got.schema != want.schema:
        return f"schema:\n{got.schema}\nnot\n{want.schema}"
    got.validate(full=True)
    return columns.differences(got, want)


def plain(table):
    """Without what pyarrow notes in its own files."""
    return table.replace_schema_metadata(None)


# ---- every type, through shards that cut batches ----
SEED = 16
every = samples.write(scratch / "every.parquet", samples.table(SEED, {**samples.FLAT, **samples.NESTED}, 700, .3), row_group_size=256)
want = plain(pq.read_table(every))
with Fleet(every) as fleet:
    whole = fleet.read(0, 1)
    check("every type, whole", differ(plain(whole), want))
    problems = [f"world {world}: {p}" for world in (2, 3, 7, 64)
                for p in [differ(plain(pa.concat_tables(fleet.read(r, world) for r in range(world))), want)] if p]
    check("every type, cut anywhere", "\n".join(problems))
    info = fleet.info(0, 1)
    check("GetFlightInfo has the schema and the rows", None if info.schema == whole.schema and info.total_records == 700
          else f"{info.schema} {info.total_records}")
    with flight.FlightClient(fleet.head.uri) as client:
        schema = client.get_schema(flight.FlightDescriptor.for_path("0", "1")).schema
    check("GetSchema", None if schema == whole.schema else schema)
check("TERM: exit 0", None if fleet.codes == [0, 0, 0] else fleet.codes)

# ---- order, shards, workers ----
N = 10007
folder = scratch / "many"
folder.mkdir()
at = 0
for i, n in enumerate((1, 4000, 0, 1006, 5000)):
    pq.write_table(pa.table({"i": pa.array(range(at, at + n), pa.int64()), "s": pa.array([f"row {k}" for k in range(at, at + n)], pa.string())}),
                   folder / f"part-{i}.parquet", row_group_size=500)
    at += n
problems = []
for workers in range(1, 6):
    with Fleet(folder, workers) as fleet:
        for world in (1, 2, 3, 7):  # test_facts.py has all up to 64
            shards = [fleet.read(r, world) for r in range(world)]
            rows = [x for s in shards for x in s["i"].to_pylist()]
            sizes = {s.num_rows for s in shards}
            if rows != list(range(N)):
                problems.append(f"{workers} workers, {world} ranks: {len(rows)} rows, {len(set(rows))} different")
            if not sizes <= {N // world, -(-N // world)}:
                problems.append(f"{workers} workers, {world} ranks: shards of {sizes}")
check("every row once, in one order, for 1 to 5 workers and 1 to 7 ranks", "\n".join(problems))

with Fleet(folder, 3) as fleet:
    check("path elements after the second are ignored", None if fleet.info(1, 2, "x", "y").total_records == N // 2 else "wrong")
    tickets = [e.ticket.ticket for e in fleet.info(0, 1).endpoints]
    numbers = [t.split(b"\nkftrainer table ")[0] for t in tickets]
    check("the tickets name one table", None if len({t[-16:] for t in tickets}) == 1 else tickets)
    check("a ticket for each worker's rows, in upstream's bytes", None if numbers == [b"\x00\xfb\xac\x0d", b"\xfb\xad\x0d\xfbj\x19", b"\xfbk\x19\xfb\x16\x27"] else tickets)
    uris = [loc.uri.decode() for e in fleet.info(0, 1).endpoints for loc in e.locations]
    check("one location an endpoint, in the order of the rows", None if uris == [w.uri for w in fleet.workers] else uris)
    with flight.FlightClient(fleet.head.uri) as head, flight.FlightClient(fleet.workers[0].uri) as worker:
        def info(*path):
            return lambda: head.get_flight_info(flight.FlightDescriptor.for_path(*path))
        for what, path, kind, text in (
                ("a rank beyond the world", ("3", "3"), pa.ArrowInvalid, "Invalid partition range"),
                ("a world of 0", ("0", "0"), pa.ArrowInvalid, "Invalid partition range"),
                ("no path", (), pa.ArrowInvalid, "Missing local_rank in path"),
                ("no world", ("0",), pa.ArrowInvalid, "Missing total in path"),
                ("a world that is no number", ("0", "NaN"), pa.ArrowInvalid, "Invalid total value"),
                ("a rank that is negative", ("-1", "3"), pa.ArrowInvalid, "Invalid local_rank value"),
                ("a rank of 30 digits", ("9" * 30, "3"), pa.ArrowInvalid, "Invalid local_rank value")):
            check("refused: " + what, fails(info(*path), kind, text))
        for what, ticket in (("empty", b""), ("one number", b"\x01"), ("cut short", b"\xfb\x01"), ("no number", b"\xff\x00")):
            check("a ticket: " + what, fails(lambda t=ticket: worker.do_get(flight.Ticket(t)).read_all(), pa.ArrowInvalid,
                                             "Invalid ticket format"))
        schema = fleet.info(0, 1).schema
        for what, ticket in (("rows of another worker", b"\xfb\x10\x27\xfb\x12\x27"), ("rows beyond the table", b"\xfc\0\0\0\x10\xfc\1\0\0\x10"),
                             ("the rows of all workers", b"\x00\xfb\x16\x27"), ("a row more than it has", b"\x00\xfb\xad\x0d"),
                             ("numbers of 64 bits", b"\xfd" + b"\xff" * 8 + b"\xfd" + b"\xff" * 8)):
            check(f"a ticket of {what} is UNAVAILABLE", fails(lambda t=ticket: worker.do_get(flight.Ticket(t)).read_all(), flight.FlightUnavailableError,
                                                              "are not all on this worker"))
        got = worker.do_get(flight.Ticket(b"\x05\x03")).read_all()
        check("a ticket without rows: the schema", None if got.num_rows == 0 and got.schema == schema else got)
        got = worker.do_get(flight.Ticket(b"\x01\x02" + bytes(100000))).read_all()
        check("a ticket with 100,000 bytes after it", None if got["i"].to_pylist() == [1, 2] else got)
        path = flight.FlightDescriptor.for_path("0")

        def exchange(client):
            """The caller does not say that it is done: who waits for that, waits forever."""
            writer, reader = client.do_exchange(path)
            try:
                writer.begin(schema)
                while True:
                    writer.write_batch(pa.record_batch([range(1000), ["x"] * 1000], schema=schema))
            except (pa.ArrowException, flight.FlightError):
                return reader.read_chunk()

        for what, call in (("DoGet of a head", lambda: head.do_get(flight.Ticket(b"\0\1")).read_all()),
                           ("GetFlightInfo of a worker", lambda: worker.get_flight_info(flight.FlightDescriptor.for_path("0", "1"))),
                           ("DoExchange", lambda: head.do_exchange(path)[1].read_all()),
                           ("DoExchange of a worker, whose caller goes on writing", lambda: exchange(worker)),
                           ("DoPut of a head", lambda: head.do_put(path, schema)[1].read()),
                           ("ListActions", lambda: list(head.list_actions())),
                           ("ListFlights of a worker", lambda: list(worker.list_flights())),
                           ("GetSchema of a worker", lambda: worker.get_schema(path)),
                           ("Handshake", lambda: head.authenticate_basic_token("a", "b"))):
            check(f"{what} is not implemented", fails(call, (flight.FlightError, NotImplementedError, pa.ArrowNotImplementedError), "not implemented"))
        check("a command descriptor that is no JSON", fails(
            lambda: head.get_flight_info(flight.FlightDescriptor.for_command(b"x")), pa.ArrowInvalid))
    def wish(**command):
        with flight.FlightClient(fleet.head.uri) as client:
            info = client.get_flight_info(flight.FlightDescriptor.for_command(json.dumps(command)))
        rows = []
        for endpoint in info.endpoints:
            with flight.FlightClient(endpoint.locations[0]) as client:
                rows += client.do_get(endpoint.ticket).read_all()["i"].to_pylist()
        return rows if len(rows) == info.total_records else f"{len(rows)} rows of {info.total_records}"

    every = list(range(N))
    each, more = divmod(N, 4)
    check("a command: rank and world, as a path", None if [wish(rank=r, world=4) for r in range(4)] == [fleet.read(r, 4)["i"].to_pylist() for r in range(4)]
          and wish() == every else "differ")
    check("start: the rest of a shard", None if wish(rank=1, world=4, start=2000) == wish(rank=1, world=4)[2000:] and wish(start=N) == [] else "differ")
    check("equal: drop", None if [wish(rank=r, world=4, equal="drop") for r in range(4)] == [every[r * each:(r + 1) * each] for r in range(4)] else "differ")
    check("equal: pad", None if [x for r in range(4) for x in wish(rank=r, world=4, equal="pad")] == (every + every)[:4 * (each + 1)] and more else "differ")
    check("equal: pad, start where it begins again", None if wish(rank=3, world=4, equal="pad", start=each) == [0] else wish(rank=3, world=4, equal="pad", start=each))
    for what, command, text in (("a key that is not known", {"ranks": 3}, "unknown key 'ranks'"), ("a rank that is text", {"rank": "3"}, "rank: want"),
                                ("a negative start", {"start": -1}, "start: want"), ("equal: other", {"equal": "x"}, "equal: want"),
                                ("a rank beyond the world", {"rank": 4, "world": 4}, "Invalid partition range")):
        check("a command refused: " + what, fails(lambda c=command: wish(**c), pa.ArrowInvalid, text))
    with flight.FlightClient(fleet.head.uri) as client:
        listed = list(client.list_flights())
    check("ListFlights: the table", None if len(listed) == 1 and listed[0].total_records == N and listed[0].descriptor.path == [b"0", b"1"] else listed)
    check("/ready, and other paths", None if [s.ready() for s in (fleet.head, *fleet.workers)] == [(200, "ready")] * 4
          and fleet.head.ready("/")[0] == 404 else "wrong")
    check("stats of a worker", None if {k: v for k, v in fleet.action(fleet.workers[1], "stats")[0].items() if k in ("state", "first", "rows")} ==
          {"state": "ready", "first": fleet.action(fleet.head, "stats")[0]["workers"][1]["first"], "rows": N} else fleet.action(fleet.workers[1], "stats"))

# ---- fewer rows than workers, none at all ----
for n, name in ((2, "two"), (0, "none")):
    pq.write_table(pa.table({"i": pa.array(range(n), pa.int64())}), scratch / f"{name}.parquet")
    with Fleet(scratch / f"{name}.parquet", 3) as fleet:
        shards = [fleet.read(r, 5) for r in range(5)]
        check(f"{n} rows, 3 workers, 5 ranks: all ready, every rank has the schema",
              None if [s.num_rows for s in shards] == [1] * n + [0] * (5 - n) and {str(s.schema) for s in shards} == {"i: int64"}
              and [w.ready()[0] for w in fleet.workers] == [200] * 3 else [s for s in shards])

# ---- life ----
with Fleet(folder, 2) as fleet:
    first = [fleet.read(r, 3)["i"].to_pylist() for r in range(3)]
    fleet.workers[1].stop(signal.SIGKILL)
    fleet.head.wait_for(r"worker is not ready")
    check("a worker that is gone: its shard fails, and says so", fails(lambda: fleet.info(2, 3), flight.FlightUnavailableError,
                                                                    "cannot be read", f":{fleet.workers[1].port}"))
    check("the others' shards are read", None if fleet.read(0, 3)["i"].to_pylist() == first[0] else "wrong")
    before = len(fleet.head.lines)
    fleet.restart_worker(1)
    fleet.head.wait_for(r"worker is ready", before)
    check("a worker that came back has its rows again", None if [fleet.read(r, 3)["i"].to_pylist() for r in range(3)] == first else "wrong")
    fleet.head.stop()
    fleet.head = fleet.start_head()
    fleet.wait()
    check("a head that came back: the same rows for each rank", None if [fleet.read(r, 3)["i"].to_pylist() for r in range(3)] == first else "wrong")

late = Server("worker", folder)
check("a worker without a head is not ready", None if late.ready() == (503, "not ready") else late.ready())
with flight.FlightClient(late.uri) as client:
    check("and says so to who reads", fails(lambda: client.do_get(flight.Ticket(b"\0\1")).read_all(), flight.FlightUnavailableError,
                                            "no rows assigned by the head yet"))
port = late.port
late.stop()
head = Server("head", folder, "--worker", f"127.0.0.1:{port}")
head.wait_for(r"worker is not ready")
check("a head without its worker is not ready", None if head.ready() == (503, "not ready") else head.ready())
late = Server("worker", folder, port=port)
head.wait_for(r"INFO ready rows=")
check("a head that started before its worker", None if head.ready() == (200, "ready") == late.ready() else "wrong")
head.stop()
late.stop()

# ---- damaged, missing ----
bad = scratch / "bad"
shutil.copytree(folder, bad)
data = bytearray((bad / "part-4.parquet").read_bytes())
data[100:2000] = bytes(1900)
(bad / "part-4.parquet").write_bytes(data)
with Fleet(bad, 2, wait=False) as fleet:
    said = fleet.head.wait_for(r"worker is not ready.*")[0]
    said = fleet.head.wait_for(r"worker is not ready.*part-4.*")[0]
    check("a damaged file keeps the cache unready, and is named", None if fleet.head.ready()[0] == 503 else said)
    check("a client is told which", fails(lambda: fleet.info(0, 1), flight.FlightUnavailableError, "part-4.parquet"))
    shutil.copy(folder / "part-4.parquet", bad / "part-4.parquet")
    fleet.wait()
    check("once it is repaired, all is read", None if fleet.read(0, 1)["i"].to_pylist() == list(range(N)) else "wrong")

# ---- readers ----
wide = scratch / "wide.parquet"
pq.write_table(pa.table({"k": range(40000), "tokens": pa.array([[j % 50000 for j in range(i, i + 512)] for i in range(40000)], pa.list_(pa.int32()))}),
               wide, compression="none", use_dictionary=False, column_encoding=None, row_group_size=2000)
want = pq.read_table(wide)
with Fleet(wide, 1) as fleet:
    worker = fleet.workers[0]
    arrow = want.nbytes
    stalled = flight.FlightClient(worker.uri)
    kept = stalled.do_get(fleet.info(0, 1).endpoints[0].ticket)
    kept.read_chunk()
    before = worker.rss()
    others = []

    def one(rank):
        others.append((rank, fleet.read(rank, 8)))

    threads = [threading.Thread(target=one, args=(r,)) for r in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    got = pa.concat_tables(t for _, t in sorted(others, key=lambda x: x[0]))
    check("8 ranks at once, beside one that does not read", None if got["k"].to_pylist() == list(range(40000))
          and got["tokens"].combine_chunks() == want["tokens"].combine_chunks() else "differ")
    check("which costs no memory", None if worker.rss() - before < 16 << 20 else f"{worker.rss() - before} bytes")
    check("resident: at most 1.1 x Arrow's size, and 8 MiB", None if SANITIZED or worker.rss() < 1.1 * arrow + (8 << 20) else f"{worker.rss()} for {arrow}")
    sizes = [c.data.nbytes for c in stalled.do_get(fleet.info(0, 1).endpoints[0].ticket)]
    check("batches of at most 2 MiB", None if max(sizes) <= 2 << 20 and len(sizes) < arrow / (1 << 19) else sizes)
    kept.cancel()
    running = stalled.do_get(fleet.info(0, 1).endpoints[0].ticket)
    running.read_chunk()
    check("exit 0, though a reader is stalled", None if worker.stop() == 0 else "not 0")
    stalled.close()

# ---- memory ----
with Fleet(wide, 1, wait=False, args=("--memory", 40 << 20)) as fleet:
    check("a table that is larger than the limit is refused", None if fleet.head.wait_for(r"worker is not ready.*need at least 7\d.*MiB of memory, 5\d.* MiB more than the limit of 26.0 MiB") else "")
with Fleet(wide, 1, args=("--memory", 40 << 20, "--spill", scratch)) as fleet:
    stats = fleet.action(fleet.workers[0], "stats")[0]
    got = fleet.read(0, 1)
    check("with --spill it is served from files", None if got["tokens"].combine_chunks() == want["tokens"].combine_chunks()
          and stats["spilled"] > 40 << 20 else stats)
shutil.rmtree(scratch)
finish()
