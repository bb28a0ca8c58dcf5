#!/usr/bin/env python3
"""Fleets that are mixed with upstream's: our head gives files to its workers, our workers load what its head gives."""
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "tests")]
sys.dont_write_bytecode = True
import venvs

venvs.use("cache", also="cache19")
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import flight

import lake
from fleet import SANITIZED, Server
from tap import check, finish

scratch = pathlib.Path(tempfile.mkdtemp(prefix="kft-upstream-"))
INDEX = pa.schema([pa.field("worker_ids", pa.uint64(), False), pa.field("row_start_indexes", pa.uint64(), False),
                   pa.field("row_end_indexes", pa.uint64(), False),
                   pa.field("file_paths", pa.list_(pa.field("item", pa.string_view())), False)])


def varint(data, at):
    size = {251: 2, 252: 4, 253: 8}.get(data[at])
    return (data[at], at + 1) if size is None else (int.from_bytes(data[at + 1:at + 1 + size], "little"), at + 1 + size)


class Upstream(flight.FlightServerBase):
    """What upstream's worker does: the index table by DoPut, rows by DoGet, nothing else."""

    def __init__(self):
        self.table, self.puts = None, []
        super().__init__("grpc://127.0.0.1:0")

    def do_put(self, context, descriptor, reader, writer):
        if reader.schema != INDEX:
            raise pa.ArrowInvalid(f"schema: {reader.schema}")
        given = reader.read_all()
        given.validate(full=True)
        self.puts.append(given.to_pylist()[0])
        paths, self.first = self.puts[-1]["file_paths"], self.puts[-1]["row_start_indexes"]
        self.table = pa.concat_tables(pq.read_table(p.removeprefix("file://")) for p in paths).replace_schema_metadata(None)
        writer.write(b"")

    def do_get(self, context, ticket):
        if self.table is None:
            raise flight.FlightInternalError("table 'datafusion.public.memtable' not found")
        first, at = varint(ticket.ticket, 0)
        last, _ = varint(ticket.ticket, at)
        begin, end = max(first - self.first, 0), min(last + 1 - self.first, self.table.num_rows)
        # Of no rows upstream's sends not even a schema; pyarrow's server always does.
        return flight.RecordBatchStream(self.table.slice(begin, max(end - begin, 0)))


N = 9000
catalog = lake.catalog(scratch / "lake")
made = catalog.create_table("db.rows", schema=pa.schema([("i", pa.int64()), ("s", pa.string())]))
for at, n in ((0, 1500), (1500, 500), (2000, 3000), (5000, 1000), (6000, 3000)):
    made.append(pa.table({"i": pa.array(range(at, at + n), pa.int64()), "s": [f"row {k}" for k in range(at, at + n)]}))
location = made.metadata_location
files = sorted(t.file.file_path for t in made.scan().plan_files())
order = [i for f in files for i in pq.read_table(f.removeprefix("file://"))["i"].to_pylist()]


def read(head, world=1):
    """Rows of all ranks, as upstream's client reads."""
    got = []
    for rank in range(world):
        with flight.FlightClient(head.uri) as client:
            info = client.get_flight_info(flight.FlightDescriptor.for_path(str(rank), str(world)))
        for endpoint in info.endpoints:
            with flight.FlightClient(endpoint.locations[0]) as client:
                got += client.do_get(endpoint.ticket).read_all()["i"].to_pylist()
    return got


def head_of(*ports):
    head = Server("head", location, *(x for p in ports for x in ("--worker", f"127.0.0.1:{p}")))
    head.wait_for(r"INFO ready rows=")
    return head


# ---- our head ----
theirs = [Upstream() for _ in range(3)]
head = head_of(*(t.port for t in theirs))
puts = [t.puts for t in theirs]
check("our head gives each of upstream's workers its files, once", None if [len(p) for p in puts] == [1, 1, 1] else puts)
check("all files, in order, and each worker's first and last row", None if [f for p in puts for f in p[0]["file_paths"]] == files
      and [p[0]["row_start_indexes"] for p in puts] == [0] + [p[0]["row_end_indexes"] + 1 for p in puts[:2]]
      and puts[2][0]["row_end_indexes"] == N - 1 and [p[0]["worker_ids"] for p in puts] == [0, 1, 2] else puts)
check("every row, in order, for 1 and 7 ranks", None if read(head) == order == read(head, 7) else "wrong")
port = theirs[1].port
theirs[1].table = None
head.wait_for(r"worker is ready", len(head.lines))
check("one that restarted gets them again", None if len(theirs[1].puts) == 2 and theirs[1].puts[0] == theirs[1].puts[1] and read(head) == order
      else theirs[1].puts)
head.stop()

mixed = Server("worker", location)
head = head_of(mixed.port, theirs[0].port)
check("workers of both kinds", None if read(head) == order == read(head, 5) else "wrong")
head.stop()
mixed.stop()

# ---- our workers ----
ours = [Server("worker", location) for _ in range(2)]
parts = [[files[3], files[0]], [files[1], files[4], files[2]]]
rows = {f: pq.read_table(f.removeprefix("file://")).num_rows for f in files}
starts = [0, sum(rows[f] for f in parts[0])]


def put(worker, id, start, paths, schema=INDEX):
    given = pa.table({"worker_ids": [id], "row_start_indexes": [start], "row_end_indexes": [max(start + sum(rows.get(p, 0) for p in paths) - 1, 0)],
                      "file_paths": [paths]}, schema=schema)
    with flight.FlightClient(worker.uri) as client:
        writer, reader = client.do_put(flight.FlightDescriptor.for_path(), schema)
        writer.write_table(given)
        writer.done_writing()
        answer = reader.read()
        writer.close()
        return answer


def get(worker, ticket):
    with flight.FlightClient(worker.uri) as client:
        return client.do_get(flight.Ticket(ticket)).read_all()["i"].to_pylist()


answers = [put(w, i, starts[i], parts[i]) for i, w in enumerate(ours)]
for w in ours:
    w.wait_for(r"INFO ready first=")
check("our workers answer DoPut with one result", None if all(a is not None for a in answers) else answers)
check("and are ready", None if [w.ready() for w in ours] == [(200, "ready")] * 2 else "not ready")
want = [[i for f in sorted(p) for i in pq.read_table(f.removeprefix("file://"))["i"].to_pylist()] for p in parts]
everything = b"\x00\xfb" + (N - 1).to_bytes(2, "little")
check("they send their files' rows, for one ticket", None if [get(w, everything) for w in ours] == want else "wrong")
middle = b"\xfb" + (starts[1] + 10).to_bytes(2, "little") + b"\xfb" + (starts[1] + 19).to_bytes(2, "little")
check("numbered from the start that the head gave", None if get(ours[1], middle) == want[1][10:20] and get(ours[0], middle) == [] else get(ours[1], middle))
put(ours[0], 0, starts[0], parts[0])
check("the same files again: nothing is loaded", None if len([x for x in ours[0].lines if "INFO loading" in x]) == 1 else ours[0].lines)
for what, paths, schema in (("no files", [], INDEX), ("another schema", parts[0], pa.schema([*list(INDEX)[:3], pa.field("file_paths", pa.list_(pa.string()))]))):
    try:
        put(ours[0], 0, 0, paths, schema)
        check(f"DoPut with {what} is refused", "it was not")
    except pa.ArrowInvalid as e:
        check(f"DoPut with {what} is refused", None if "index table" in str(e) else e)
# 20,000 paths that are the same 100 KB: 2 GB of text in a request of 420 KB.
for what, length, n in (("more text than the request has", 100_000, 20_000), ("an empty path", 0, 1)):
    paths = pa.Array.from_buffers(pa.string_view(), n, [None, pa.py_buffer((length.to_bytes(4, "little") + b"xxxx" + bytes(8)) * n), pa.py_buffer(b"x" * length)])
    given = pa.record_batch([pa.array([0], pa.uint64()), pa.array([0], pa.uint64()), pa.array([0], pa.uint64()),
                             pa.ListArray.from_arrays(pa.array([0, n], pa.int32()), paths)], schema=INDEX)
    rss = ours[0].rss()
    try:
        with flight.FlightClient(ours[0].uri) as client:
            writer, reader = client.do_put(flight.FlightDescriptor.for_path(), INDEX)
            writer.write_batch(given)
            writer.done_writing()
            reader.read()
            writer.close()
        check(f"DoPut with {what} is refused", "it was not")
    except pa.ArrowInvalid as e:
        check(f"DoPut with {what} is refused, and costs no memory", None if "file_paths" in str(e) and (SANITIZED or ours[0].rss() - rss < 8 << 20) else e)
before = len(ours[0].lines)
put(ours[0], 0, 0, ["file:///nowhere.parquet"])
said = ours[0].wait_for(r"cannot load rows.*", before)[0]
check("a file that the table lacks is named, and keeps the worker unready", None if "/nowhere.parquet" in said and ours[0].ready()[0] == 503 else said)
for w in ours:
    w.stop()
for t in theirs:
    t.shutdown()
shutil.rmtree(scratch)
finish()
